"""``unabridged models``: the model table, and what was learned from refusals."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from unabridged.cli.console import number, plural, put
from unabridged.cli.options import Json  # noqa: TC001 - typer reads annotations as it runs
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from unabridged.providers.limits import Learned
    from unabridged.providers.models import ModelInfo
    from unabridged.types import Limit

__all__ = ["register"]

_IN_FULL = 4  # rows that come with their plan and notes


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("models")(_models)


def _models(
    name: Annotated[str | None, typer.Argument(help="A model, in any usual spelling; none: all.")] = None,
    learned: Annotated[bool, typer.Option("--learned", help="What was learned from refusals.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Forget what was learned (of NAME, or everything).")] = False,
    as_json: Json = False,
) -> None:
    """What is known of embedding models: limits, widths, conventions.

    ```
    unabridged models text-embedding-3-small
    unabridged models --learned
    unabridged models --forget
    ```
    """
    if forget:
        _forget(name)
    elif learned:
        _show_learned(name, as_json=as_json)
    else:
        _show(_rows(name), as_json=as_json)


def _rows(name: str | None) -> list[ModelInfo]:
    from unabridged.providers.models import all_models, known_model, nearest_model

    if name is None:
        return list(all_models())
    known = known_model(name)
    if known is None:
        near = nearest_model(name)
        raise ConfigError("NAME", f"{name!r} is not in the table" + (f", did you mean {near}?" if near else ""))
    return [row for row in all_models() if row.model == known.model] or [known]


def _show(rows: list[ModelInfo], *, as_json: bool) -> None:
    if as_json:
        put(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False) + "\n")
        return
    shown = [("MODEL", "PROVIDER", "TOKENS", "WIDTH", "TEXTS A REQUEST", "TOKENS A REQUEST")]
    for row in rows:
        limit = row.limit
        numbers = (limit.input_tokens, row.dimensions, limit.request_inputs, limit.request_tokens)
        texts = ["any" if at == 0 and n is None else "–" if n is None else f"{n:,}" for at, n in enumerate(numbers)]
        shown.append((row.model, row.provider, *texts))  # type: ignore[arg-type]
    widths = [max(len(row[at]) for row in shown) for at in range(len(shown[0]))]
    for line in shown:
        cells = [
            f"{cell:<{w}}" if at < 2 else f"{cell:>{w}}" for at, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        put("  ".join(cells).rstrip() + "\n")
    for row in rows if len(rows) <= _IN_FULL else ():
        _details(row, named=len(rows) > 1)


def _details(row: ModelInfo, *, named: bool) -> None:
    where = f" ({row.provider})" if named else ""
    for label, words in (
        ("plan", _plan(row.limit)),
        ("query", row.query),
        ("document", row.document),
        ("note", row.note),
    ):
        if words:
            put(f"{label}{where}: {words}\n")


def _plan(limit: Limit) -> str:
    """How a text over the limit is cut, unless told otherwise."""
    from unabridged.embedding.plan import Chunking, in_force

    plan = in_force(Chunking(), limit)
    if plan is None:
        return "never cut: it takes texts of any length"
    sizes = f"{number(plan.max_size)}, {number(plan.overlap)} shared, {number(plan.minimum)} at the least"
    return f"chunks of {sizes} ({plan.unit})"


def _show_learned(name: str | None, *, as_json: bool) -> None:
    from unabridged.providers.calibration import Calibration
    from unabridged.providers.limits import LearnedLimits

    rows, counts = LearnedLimits().entries(model=name), Calibration().entries(name)
    if as_json:
        scales = [{"host": host, "model": model, "script": script, **asdict(r)} for host, model, script, r in counts]
        put(json.dumps([*map(asdict, rows), *scales], indent=2) + "\n")
        return
    for row in rows:
        put(f"{row.host}  {row.model}  {row.unit.replace('_', ' ')}: {row.value:,}  ({_origin(row)})\n")
    for host, model, script, ratio in counts:
        put(f"{host}  {model}  tokens of {script} text: {ratio.high:.2f} for one counted here\n")
    if not rows and not counts:
        put("nothing has been learned yet\n")


def _origin(row: Learned) -> str:
    day = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%d %H:%M")
    numbers = [f"{label} {n:,}" for label, n in (("stated", row.stated), ("refused", row.actual)) if n is not None]
    return ", ".join([row.kind, *numbers, f"{day} UTC"])


def _forget(name: str | None) -> None:
    from unabridged.providers.calibration import Calibration
    from unabridged.providers.limits import LearnedLimits

    counts = Calibration().forget(model=name)
    put(f"forgot {plural(LearnedLimits().forget(model=name), 'limit')} and {plural(counts, 'count')}\n")
