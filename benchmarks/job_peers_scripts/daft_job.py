"""Daft: read Parquet, ``embed_text`` by its OpenAI provider, write Parquet."""

from __future__ import annotations

import sys
import time

began = time.perf_counter()
import daft  # noqa: E402
from daft.ai.openai.provider import OpenAIProvider  # noqa: E402
from daft.functions import embed_text  # noqa: E402

source, target, url, width = sys.argv[1:5]
provider = OpenAIProvider(name="peer", base_url=url, api_key="k")
frame = daft.read_parquet(source)
vectors = embed_text(daft.col("text"), provider=provider, model="text-embedding-3-small", dimensions=int(width))
loaded = time.perf_counter()
frame.with_column("vector", vectors).write_parquet(target)
print("SECONDS", loaded - began, time.perf_counter() - loaded)
