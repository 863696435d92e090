"""Batch work: resumable, local or distributed."""
