"""The section of a batch job: what it reads, where the vectors go, how far it may go."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from unabridged.config.section import Count, Section, Text, one_of

__all__ = ["JobSection", "SinkSection", "SourceSection"]

Money = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Paths = Annotated[
    Annotated[Text, Tag("<string>")] | Annotated[list[Text], Field(min_length=1), Tag("<list>")],
    one_of("a path or a list of paths"),
]


class SourceSection(Section):
    """Where texts come from."""

    paths: Paths = Field(description="Files, folders, patterns, URIs (s3://…), or - for standard input.")
    format: Literal["parquet", "arrow", "jsonl", "csv", "lance", "huggingface", "files", "memory"] | None = Field(
        default=None, description="Default: told from the endings; a folder of other files is a text a file."
    )
    text: Text = Field(default="text", description="Column that holds the text.")
    id: Text | None = Field(default=None, description="Column that names a row; default: its place in its file.")
    keep: list[Text] = Field(default_factory=list, description="Columns carried into the output; * is all of them.")
    ignore: list[Text] = Field(default_factory=list, description="Patterns as in .gitignore, for folders.")
    hidden: bool = Field(default=False, description="Take hidden files of a folder too.")
    encoding: Text | None = Field(default=None, description="Of text files; default: told from the bytes.")
    dataset: Text = Field(default="default", description="Of a memory.")
    storage: dict[str, str] = Field(default_factory=dict, repr=False, description="Options of the file system.")


class SinkSection(Section):
    """Where vectors go."""

    target: Text | None = Field(default=None, description="A file or URI: .parquet, .npy, .jsonl, .lance; or a memory.")
    format: Literal["parquet", "npy", "jsonl", "lance", "column", "memory"] | None = Field(
        default=None, description="column: into the source's own tables; memory: target is a memory's place."
    )
    column: Text = Field(default="vector", description="Name of the column that is added.")
    chunk_vectors: bool = Field(default=False, description="Also a row for each chunk.")
    force: bool = Field(default=False, description="Replace an output that exists.")
    dataset: Text = Field(default="default", description="Of a memory.")
    storage: dict[str, str] = Field(default_factory=dict, repr=False, description="Options of the file system.")


class JobSection(Section):
    """One job; ``unabridged job run`` takes the rest from the command line."""

    source: (
        Annotated[
            Annotated[Text, Tag("<string>")]
            | Annotated[list[Text], Field(min_length=1), Tag("<list>")]
            | Annotated[SourceSection, Tag("<object>")],
            one_of("a path, a list of paths or an object"),
        ]
        | None
    ) = Field(default=None, description="What is read: a path, several, or settings.")
    sink: (
        Annotated[
            Annotated[Text, Tag("<string>")] | Annotated[SinkSection, Tag("<object>")],
            one_of("a file or an object"),
        ]
        | None
    ) = Field(default=None, description="Where vectors go: a file by its ending, or settings.")
    role: Literal["document", "query"] = Field(default="document", description="What the texts are.")
    name: Text | None = Field(default=None, description="The job's name; default: from what it reads and writes.")
    folder: Text | None = Field(default=None, description="Where jobs are kept; default: the user's own folder.")
    price: Money | None = Field(default=None, description="What a million tokens cost.")
    max_cost: Money | None = Field(default=None, description="Stop before the job costs more; needs a price.")
    max_requests: Count | None = Field(default=None, description="Stop after so many requests of all runs.")
    on_change: Literal["refuse", "fork"] = Field(
        default="refuse", description="What another model, source or sink under the same name is."
    )
    patience: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=600.0, description="Seconds that a provider which answers nothing is waited for."
    )
    batch: bool = Field(default=False, description="By the provider's batch API: cheaper, within hours.")
    processes: Count | None = Field(default=None, description="Embed in so many processes of this machine.")
    ray: Text | None = Field(default=None, description="Embed on a Ray cluster: auto, ray://HOST:PORT, or local.")
    rate: Money | None = Field(default=None, description="With ray: requests a second, of all workers together.")
    redis: Text | None = Field(default=None, repr=False, description="With ray: a cache that all workers share.")
    metrics: Count | None = Field(default=None, description="Serve Prometheus metrics on this port meanwhile.")
    spans: bool = Field(default=False, description="OpenTelemetry spans, to where the environment says.")
    block_rows: Count = Field(default=4096, description="Rows that are noted together.")
    workers: Count | None = Field(default=None, description="Blocks embedded at once; default: as requests need.")
