"""From a text to entities and facts: by a model, or by what the text declares itself."""
