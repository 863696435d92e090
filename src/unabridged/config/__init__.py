"""One plugin JSON -> every object below.

>>> config = load_config({"embedding": {"provider": "hashing", "dimensions": 64}})
>>> config.embedding.dimensions
64
>>> load_config({"embedding": {"baseUrl": "http://localhost:11434"}})
Traceback (most recent call last):
unabridged.errors.ConfigError: embedding.baseUrl: unknown key, did you mean baseURL?
"""

from __future__ import annotations

from unabridged.config.load import Config, load_config
from unabridged.config.schema import json_schema

__all__ = ["Config", "json_schema", "load_config"]
