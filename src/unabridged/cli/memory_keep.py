"""``unabridged memory``: keeping a dataset: figures, proofs, copies, states, upkeep."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from unabridged.cli.console import note, plural, put
from unabridged.cli.memory_options import Dataset, Json, Uri, Yes, confirm, named, opened, place, settings, storage
from unabridged.cli.memory_print import as_data, lines, show, verdict

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("stats")(_stats)
    app.command("verify")(_verify)
    app.command("export", no_args_is_help=True)(_export)
    app.command("import", no_args_is_help=True)(_import)
    app.command("snapshot")(_snapshot)
    app.command("restore")(_restore)
    app.command("optimize")(_optimize)
    app.command("purge")(_purge)
    app.command("drop", no_args_is_help=True)(_drop)


def _stats(uri: Uri = None, dataset: Dataset = "default", as_json: Json = False) -> None:
    """Rows, sizes, versions, indexes, vectors expected and present.

    ```
    unabridged memory stats
    ```
    """
    found = opened(uri, dataset, read_only=True).stats()
    if as_json:
        show(found)
        return
    size = "" if found.bytes is None else f", {found.bytes:,} bytes"
    wide = f"vectors {found.width} wide" if found.width else "no vectors"
    put(f"{found.name}: commit {found.seq:,}, schema {found.schema}, {wide}{size}\n\n")
    put(f"{'table':<14}{'rows':>12}{'deleted':>10}{'bytes':>16}{'pieces':>8}{'versions':>10}\n")
    for table, each in found.tables.items():
        put(f"{table:<14}{each.rows:>12,}{each.stale:>10,}{'–' if each.bytes is None else f'{each.bytes:,}':>16}")
        put(f"{each.fragments:>8,}{each.versions:>10,}\n")
    put(f"\n{'vectors of':<14}{'expected':>12}{'present':>10}\n")
    for name, coverage in found.vectors.items():
        put(f"{name.replace('_', ' '):<14}{coverage.expected:>12,}{coverage.present:>10,}\n")


def _verify(
    every: Annotated[bool, typer.Option("--all", help="List every promise, not only how many hold.")] = False,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Check every promise on the live dataset; exit code 1 if one is broken.

    ```
    unabridged memory verify
    ```
    """
    report = opened(uri, dataset).verify()
    if as_json:
        show({**as_data(report), "ok": report.ok})
    else:
        put(verdict(report, every=every))
        for each in report.notes:
            note(each)
    raise typer.Exit(report.exit_code)


def _export(
    path: Annotated[str, typer.Argument(help="A folder that is not there yet.")],
    form: Annotated[Literal["jsonl", "parquet"], typer.Option("--format", "-f", help="Of the rows.")] = "jsonl",
    uri: Uri = None,
    dataset: Dataset = "default",
) -> None:
    """Write the whole dataset, vectors and files included, to a folder.

    ```
    unabridged memory export backup --format parquet
    ```
    """
    done = opened(uri, dataset).export(path, format=form)
    put(f"{plural(sum(each['rows'] for each in done.tables.values()), 'row')}, {plural(len(done.files), 'file')}\n")


def _import(
    path: Annotated[str, typer.Argument(help="A folder that export wrote.")],
    uri: Uri = None,
    dataset: Dataset = "default",
) -> None:
    """Make a dataset of an export; it must not exist, or be empty.

    ```
    unabridged memory import backup --dataset restored
    ```
    """
    from unabridged.memory import Memory

    with Memory.import_(path, place(uri), dataset=dataset, **settings(uri)) as memory:
        put(f"{plural(memory.artifacts.counts().documents, 'document')} in {memory.name}\n")


def _snapshot(
    name: Annotated[str, typer.Argument(help="What to call the present state.")],
    drop: Annotated[bool, typer.Option("--drop", help="Let go of the state of that name instead.")] = False,
    uri: Uri = None,
    dataset: Dataset = "default",
) -> None:
    """Give the present state a name, to open or restore it later.

    ```
    unabridged memory snapshot before-cleaning
    ```
    """
    with opened(uri, dataset) as memory:
        if drop:
            memory.drop_snapshot(name)
        else:
            lines([memory.snapshot(name)])


def _restore(
    name: Annotated[str, typer.Argument(help="A snapshot.")],
    yes: Yes = False,
    uri: Uri = None,
    dataset: Dataset = "default",
) -> None:
    """Make a named state the present one; what is newer is no longer current.

    ```
    unabridged memory restore before-cleaning --yes
    ```
    """
    with opened(uri, dataset) as memory:
        confirm(f"replace the present state by {name!r}?", yes=yes)
        memory.restore(name)
        of = next(each.created_at for each in memory.snapshots() if each.name == name)
        documents = plural(memory.artifacts.counts().documents, "document")
        put(f"{memory.name} is as it was at {of:%Y-%m-%d %H:%M:%S} UTC, in the snapshot {name}: {documents}\n")


def _optimize(uri: Uri = None, dataset: Dataset = "default") -> None:
    """Do now all the upkeep there is: compact, index, clean up.

    ```
    unabridged memory optimize
    ```
    """
    with opened(uri, dataset) as memory:
        memory.optimize()


def _purge(
    drop_snapshots: Annotated[bool, typer.Option("--drop-snapshots", help="Let go of snapshots as well.")] = False,
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for readers.")] = 0.0,
    uri: Uri = None,
    dataset: Dataset = "default",
) -> None:
    """Take what was deleted out of every file: old versions, indexes, debris.

    ```
    unabridged memory purge
    ```
    """
    with opened(uri, dataset) as memory:
        done = memory.purge(drop_snapshots=drop_snapshots, wait=wait)
    put(f"{done.bytes_freed:,} bytes freed\n")


def _drop(
    dataset: Annotated[str, typer.Argument(help="A dataset.")],
    yes: Yes = False,
    uri: Uri = None,
) -> None:
    """Delete a dataset whole, with its vectors and files.

    ```
    unabridged memory drop old --yes
    ```
    """
    from unabridged.memory import Memory

    where = place(uri)
    confirm(f"delete the whole dataset {dataset!r} in {where}?", yes=yes)
    with named(where, dataset):
        Memory.drop(where, dataset, **storage(uri))
