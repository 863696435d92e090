"""Settings -> a job: what the file says, and what a command line puts in its place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.config.model_job import JobSection, SinkSection, SourceSection
from unabridged.errors import ConfigError
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.config.load import Config
    from unabridged.embedding.embedder import Embedder

__all__ = ["ConfigEmbedder", "job_settings"]

_PASSED_ON = ("role", "name", "price", "max_cost", "max_requests", "on_change", "patience", "block_rows", "workers")


@dataclass(frozen=True, slots=True)
class ConfigEmbedder:
    """Opens the embedder of a configuration in whichever process asks.

    It holds the settings as they were written, with their variables, so no key travels in it that stood in the
    environment. ``model`` are arguments of :meth:`Config.with_model`, ``options`` of the embedder.
    """

    settings: Mapping[str, Any] = field(repr=False)
    plugin: str
    model: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **overrides: Any) -> Embedder:
        """Open it."""
        from unabridged.config.load import load_config

        entry = {"enabled": True, "config": dict(self.settings)}
        config = load_config({"plugins": {"entries": {self.plugin: entry}}})
        return config.with_model(**self.model).embedder(**{**self.options, **overrides})


def job_settings(
    config: Config,
    *,
    model: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
    sink: Mapping[str, Any] | None = None,
    **given: Any,
) -> JobSettings:
    """The job of a configuration; what is given wins, ``None`` leaves a setting as it is.

    Raises :class:`~unabridged.errors.ConfigError` where nothing says what to read, or where to write.

    >>> from unabridged.config import load_config
    >>> config = load_config({"embedding": {"provider": "hashing"}, "job": {"source": "a.jsonl", "sink": "a.parquet"}})
    >>> job = job_settings(config, max_requests=3)
    >>> job.source.paths, job.sink.target, job.max_requests
    (('a.jsonl',), 'a.parquet', 3)
    """
    section = config.settings.job or JobSection()
    chosen = {name: getattr(section, name) for name in _PASSED_ON}
    folder = given.pop("folder", None) or section.folder
    chosen |= {name: value for name, value in given.items() if value is not None}
    return JobSettings(
        source=_source(section, source or {}),
        sink=_sink(section, sink or {}),
        embedder=ConfigEmbedder(
            {key: value for key, value in config.block.settings.items() if key != "job"},
            config.block.plugin,
            {key: value for key, value in (model or {}).items() if value is not None},
            {key: value for key, value in (options or {}).items() if value is not None},
        ),
        folder=None if folder is None else str(Path(folder).expanduser()),
        **chosen,
    )


def _source(section: JobSection, given: Mapping[str, Any]) -> SourceSettings:
    written = section.source
    if isinstance(written, str | list):
        written = SourceSection(paths=written)
    changed = {name: value for name, value in given.items() if value not in (None, (), [])}
    if written is None and "paths" not in changed:
        raise ConfigError("job.source", "not given; name a file, a folder, a pattern, a URI or -")
    values = {} if written is None else {name: getattr(written, name) for name in SourceSection.model_fields}
    values |= changed
    paths = values.pop("paths")
    values |= {name: tuple(values.get(name, ())) for name in ("keep", "ignore")}
    return SourceSettings((paths,) if isinstance(paths, str) else tuple(paths), **values)


def _sink(section: JobSection, given: Mapping[str, Any]) -> SinkSettings:
    written = section.sink
    if isinstance(written, str):
        written = SinkSection(target=written)
    values = {} if written is None else {name: getattr(written, name) for name in SinkSection.model_fields}
    values |= {name: value for name, value in given.items() if value not in (None, False)}
    made = SinkSettings(**{**values, "target": values.get("target") or ""})
    if not made.target and made.format != "column":
        raise ConfigError("job.sink", "not given; name a file (.parquet, .npy, .jsonl, .lance), a memory or a column")
    return replace(made, target=str(Path(made.target).expanduser())) if made.target.startswith("~") else made
