"""The write path: a text becomes artifacts, entities and facts, whole or not at all."""
