"""The public /v1: endpoints, schemas, authentication, rate limits, error bodies."""
