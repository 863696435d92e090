"""The shapes of other people's clients."""
