"""LlamaIndex: nodes from Parquet, IngestionPipeline with OpenAIEmbedding (async, 8 workers), Parquet out."""

from __future__ import annotations

import asyncio
import sys
import time

began = time.perf_counter()
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from llama_index.core.ingestion import IngestionPipeline  # noqa: E402
from llama_index.core.schema import TextNode  # noqa: E402
from llama_index.embeddings.openai import OpenAIEmbedding  # noqa: E402

source, target, url, width = sys.argv[1:5]
model = OpenAIEmbedding(
    model="text-embedding-3-small",
    api_base=url,
    api_key="k",
    dimensions=int(width),
    embed_batch_size=64,
    num_workers=64,
)
pipeline = IngestionPipeline(transformations=[model])
loaded = time.perf_counter()
rows = pq.read_table(source)
nodes = [TextNode(text=text) for text in rows["text"].to_pylist()]
done = asyncio.run(pipeline.arun(nodes=nodes))
vectors = pa.array([node.embedding for node in done], pa.list_(pa.float32(), int(width)))
pq.write_table(rows.append_column("vector", vectors), target)
print("SECONDS", loaded - began, time.perf_counter() - loaded)
