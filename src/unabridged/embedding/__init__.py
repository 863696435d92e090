"""Any text becomes one vector: plan, look up, send, check, pool."""
