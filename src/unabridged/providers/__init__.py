"""One raw request to a model, and what a refusal means."""
