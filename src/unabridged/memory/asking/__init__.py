"""Asking a chat model: one request, the policy around it, and an account of what it cost."""
