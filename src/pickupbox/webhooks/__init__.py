"""Webhooks: signing, the guarded way out, and delivery in order."""
