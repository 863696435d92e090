"""Cutting text: pure, no I/O, no policy."""
