"""Ray Data with LangChain's OpenAIEmbeddings: two actors, 1,024 rows a batch, 64 texts a request, Parquet out."""

from __future__ import annotations

import sys
import time

began = time.perf_counter()
import ray  # noqa: E402

source, target, url, width = sys.argv[1:5]


class Embed:
    def __init__(self) -> None:
        from langchain_openai import OpenAIEmbeddings

        self.model = OpenAIEmbeddings(
            model="text-embedding-3-small",
            base_url=url,
            api_key="k",
            dimensions=int(width),
            chunk_size=64,
            check_embedding_ctx_length=False,
        )

    def __call__(self, batch):
        batch["vector"] = self.model.embed_documents(list(batch["text"]))
        return batch


ray.init(num_cpus=4, log_to_driver=False, configure_logging=False, include_dashboard=False)
ray.data.DataContext.get_current().enable_progress_bars = False
loaded = time.perf_counter()
rows = ray.data.read_parquet(source)
rows.map_batches(Embed, batch_size=1024, concurrency=2).write_parquet(target)
print("SECONDS", loaded - began, time.perf_counter() - loaded)
ray.shutdown()
