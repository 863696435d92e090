"""The work of ``embed``: batch by batch, one bad text hurting only itself."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from unabridged.cli.console import in_words, note, number, plural, seconds, story, warn
from unabridged.cli.rows import Outcome
from unabridged.errors import EmptyText, InputError, ProviderError
from unabridged.types import Usage

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.cli.inputs import Inputs, Text
    from unabridged.cli.outputs import Output
    from unabridged.cli.progress import ProgressLine
    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.results import EmbedResult, TextResult

__all__ = ["Task"]

_SHOWN = 5  # warnings and failures in full; the rest is counted, and stands in the output
# Bytes of English a second that the embedded model takes on two cores (1 MB in 34 s, measured); a guess for
# the first moments, in which a book is counted.
_LOCAL_SPEED = 30_000.0
# Refusals that the next text would meet as well: there is no use in going on.
_HOPELESS = frozenset({"auth", "quota", "model_not_found", "invalid_dimensions"})
# Refusals that are about one text, and say nothing of the next.
_OF_ONE_TEXT = frozenset({"input_overflow", "empty_input", "output_budget", "bad_values"})


@dataclass(slots=True, eq=False)
class Task:
    """What is to be embedded, how, and what has become of it so far.

    ``raises`` stops at the first text that fails.
    """

    inputs: Inputs
    embedder: Embedder
    role: Literal["query", "document"]
    chunks: bool
    raises: bool
    quiet: bool
    usage: Usage = field(default_factory=Usage)
    texts: int = 0
    failed: int = 0
    blank: int = 0
    warned: int = 0
    _started: float = field(default_factory=time.monotonic)

    def run(self, output: Output) -> bool:
        """Embed and write everything; whether there was anything to write. On an error nothing is left."""
        from unabridged.cli.progress import ProgressLine

        try:
            speed = _LOCAL_SPEED if self.embedder.provider.name == "local" else None
            size, wave = self.inputs.bytes, _wave(self.embedder)
            with ProgressLine(size, len(self.inputs), quiet=self.quiet, wave=wave, speed=speed) as line:
                for batch in self.inputs.batches():
                    line.batch(sum(one.size for one in batch), total=self.inputs.bytes)
                    outcomes = self._embed(batch, line)
                    output.write(outcomes, self.embedder.fingerprint(self.role), self.embedder.dimensions or 0)
                    line.batch_done(len(batch))
            return output.commit()
        except BaseException:
            output.abort()
            raise

    def summary(self, target: Path | None) -> str:
        """Everything in one line."""
        parts = [
            plural(self.texts, "text"),
            plural(self.usage.chunks, "chunk"),
            plural(self.usage.tokens, "token") + " sent",
            f"{number(self.usage.cached)} cached",
            plural(self.usage.requests, "request"),
            seconds(time.monotonic() - self._started),
        ]
        passed = [f"{number(count)} {reason}" for reason, count in sorted(self.inputs.skipped.items())]
        if self.blank:
            passed.append(f"{number(self.blank)} blank")
        if passed:
            parts.append(f"skipped: {', '.join(passed)}")
        if self.failed:
            parts.append(f"{number(self.failed)} failed")
        return ", ".join(parts) + (f" -> {target}" if target is not None else "")

    def tell_the_rest(self) -> None:
        """How many warnings and failures were not shown."""
        for count, what in ((self.failed, "failed texts"), (self.warned, "warnings")):
            if count > _SHOWN:
                note(f"… and {number(count - _SHOWN)} more {what}; all of them stand in the output")

    def _embed(self, batch: list[Text], line: ProgressLine) -> list[Outcome]:
        readable = [one for one in batch if one.error is None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # they stand in the results, and are told there
            result = self.embedder.embed_detailed(
                [one.text for one in readable], role=self.role, chunk_vectors=self.chunks, progress=line.step
            )
        self.usage += result.usage
        self._stop_if_hopeless(result)
        made = {id(one): found for one, found in zip(readable, result, strict=True)}
        outcomes = [_outcome(one, made.get(id(one))) for one in batch]
        for outcome in outcomes:
            self._count(outcome)
        return outcomes

    def _stop_if_hopeless(self, result: EmbedResult) -> None:
        """A wrong key is the same for every text, and so is a server that answers none of them."""
        errors = [text.error for text in result.failed if isinstance(text.error, ProviderError)]
        hopeless = next((error for error in errors if error.fault.kind in _HOPELESS), None)
        answered = any(text.vector is not None for text in result)
        if hopeless is None and not self.texts and not answered and len(errors) == len(result.failed):
            hopeless = next((error for error in errors if error.fault.kind not in _OF_ONE_TEXT), None)
        if hopeless is not None:
            hopeless.add_note("nothing was written; texts that were embedded are in the cache, if there is one")
            raise hopeless

    def _count(self, outcome: Outcome) -> None:
        self.texts += 1
        self.blank += outcome.status == "skipped"
        if outcome.status == "failed":
            self.failed += 1
            if self.raises:
                raise _as_error(outcome)
            if self.failed <= _SHOWN:
                story(f"{outcome.id}: {outcome.error}")
        for said in outcome.warnings:
            self.warned += 1
            if self.warned <= _SHOWN:
                warn(said)


def _why(error: Exception | None) -> str | None:
    if error is None:
        return None
    return "empty or blank" if isinstance(error, EmptyText) else in_words(error)


def _outcome(one: Text, found: TextResult | None) -> Outcome:
    said = (one.warning, *(found.warnings if found is not None else ()))
    reason = one.error
    if found is not None:
        reason = _why(found.error)
    told = tuple(_named(line, one.id) for line in said if line)
    return Outcome(one.id, None if one.error else one.text, found, reason, told, size=one.size, digest=one.digest)


def _named(warning: str, name: str) -> str:
    """A warning about "text 3" names the file instead."""
    head, colon, rest = warning.partition(": ")
    return f"{name}: {rest}" if colon and head.startswith("text ") else f"{name}: {warning}"


def _as_error(outcome: Outcome) -> Exception:
    error = None if outcome.result is None else outcome.result.error
    return error if isinstance(error, ProviderError) else InputError(f"{outcome.id}: {outcome.error}")


def _wave(embedder: Embedder) -> int | None:
    """The most tokens that are under way at once, if the provider's limits tell."""
    from unabridged.embedding.batching import DEFAULT_INPUTS

    limit, plan = embedder.limit, embedder.cutting
    caps = [] if limit.request_tokens is None else [limit.request_tokens]
    if plan is not None and plan.unit == "tokens":
        caps.append((limit.request_inputs or DEFAULT_INPUTS) * plan.max_size)
    return min(caps) * embedder.concurrency if caps else None
