"""Bad input: Schemathesis drives a real API process by its own OpenAPI document."""
