"""Measurements beside others; ``python -m benchmarks`` lists them, results are committed as JSON."""
