"""Jobs in tests: a folder of their own, real servers on loopback, and ways to read what they wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unabridged import Embedder, Limit, open_provider
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
from unabridged.testing import vector_for


@dataclass(frozen=True)
class Remote:
    """Opens an embedder of a loopback server; picklable."""

    url: str
    keys: tuple[str, ...] = ("k",)
    inputs: int = 8
    concurrency: int = 4
    tokens: int = 64
    model: str = "bench"
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, **overrides: Any) -> Embedder:
        providers = [open_provider(f"openai/{self.model}", api_key=key, base_url=self.url) for key in self.keys]
        limit = Limit(input_tokens=self.tokens, request_inputs=self.inputs)
        given = {"limit": limit, "concurrency": self.concurrency, **dict(self.options)}
        return Embedder(providers, **{**given, **overrides})


@dataclass
class Bench:
    """A folder with sources, jobs and outputs."""

    folder: Path
    counter: int = 0
    keep: dict[str, Any] = field(default_factory=dict)

    def parquet(self, rows: int = 100, name: str = "in.parquet", **columns: list) -> str:
        path = self.folder / name
        table = pa.table({"key": [f"k{i}" for i in range(rows)], "text": texts(rows), **columns})
        pq.write_table(table, path, row_group_size=37)
        return str(path)

    def jsonl(self, rows: list[Any], name: str = "in.jsonl") -> str:
        path = self.folder / name
        path.write_text("".join(json.dumps(row) + "\n" if not isinstance(row, str) else row for row in rows), "utf-8")
        return str(path)

    def out(self, name: str) -> str:
        return str(self.folder / name)

    def settings(
        self, source: str | SourceSettings, sink: str | SinkSettings, embedder: Any = None, **given: Any
    ) -> JobSettings:
        source = SourceSettings((source,), id="key") if isinstance(source, str) else source
        sink = SinkSettings(sink) if isinstance(sink, str) else sink
        defaults: dict[str, Any] = {"folder": str(self.folder / "jobs"), "block_rows": 16, "cache": False}
        return JobSettings(
            source, sink, embedder or EmbedderSpec("hashing", {"dimensions": 8}), **{**defaults, **given}
        )


def texts(rows: int, start: int = 0) -> list[str]:
    return [f"row {i}: boats and harbours, number {i * 7}" for i in range(start, start + rows)]


def read_rows(path: str) -> dict[str, list[Any]]:
    """An output as a user of its format reads it: columns by name."""
    if path.endswith(".parquet"):
        return pq.read_table(path).to_pydict()
    if path.endswith(".lance"):
        import lance

        return lance.dataset(path).to_table().to_pydict()
    if path.endswith(".npy"):
        rows = [json.loads(line) for line in Path(path).with_suffix(".ids.jsonl").read_text("utf-8").splitlines()]
        matrix = np.load(path)
        for row in rows:
            row["vector"] = matrix[row.pop("row")].tolist()
    else:
        rows = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]
    return {name: [row[name] for row in rows] for name in rows[0]}


def vectors_of(found: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    return {named: np.array(vector, np.float32) for named, vector in zip(found["id"], found["vector"], strict=True)}


def right(found: dict[str, list[Any]], given: dict[str, str], width: int = 32) -> bool:
    """Whether each row has the vector that a loopback server gives its text."""
    made = vectors_of(found)
    return set(made) == set(given) and all(
        np.array_equal(made[key], np.array(vector_for(text, width), np.float32)) for key, text in given.items()
    )


@pytest.fixture
def bench(tmp_path, monkeypatch) -> Bench:
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UNABRIDGED_JOBS", str(tmp_path / "jobs"))
    return Bench(tmp_path)


__all__ = ["Bench", "Remote", "read_rows", "replace", "right", "texts", "vectors_of"]
