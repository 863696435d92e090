"""A memory to look at, written without any model: people, firms, places, what they do and where it is said."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory.records import Inference
from unabridged.memory.values import new_id
from unabridged.text.segmenters import split

if TYPE_CHECKING:
    from unabridged.memory import Memory

REPORT = """# Acme, a history

Alice Moreau founded Acme in Lyon in 2011 with two friends and a borrowed lathe. The firm made valves; by 2014 it made
valves for half of the breweries in France. Bob Tanaka joined as an engineer in March 2013 and became head of research
in 2016.

## The move

In May 2018 Acme moved from Lyon to Antwerp. Alice Moreau stepped down as chief executive in 2020, and Carla Weiss took
over. Die Übernahme war längst geplant; 東京 had been discussed as well. 🏭 The Lyon works stayed open until 2021.

## Today

Carla Weiss leads Acme. Bob Tanaka left for Brightwater in 2022, where he builds desalination membranes. Acme employs
412 people, and sells to 31 countries.
"""
ENTITIES = (
    ("Alice Moreau", "person"), ("Bob Tanaka", "person"), ("Carla Weiss", "person"), ("Acme", "organization"),
    ("Brightwater", "organization"), ("Lyon", "place"), ("Antwerp", "place"),
)  # fmt: skip
FACTS = (
    ("Alice Moreau", "founded", "Acme", "2011", None, "Alice Moreau founded Acme in Lyon in 2011"),
    ("Alice Moreau", "leads", "Acme", "2011", "2020", "Alice Moreau stepped down as chief executive in 2020"),
    ("Carla Weiss", "leads", "Acme", "2020", None, "Carla Weiss leads Acme"),
    ("Bob Tanaka", "works at", "Acme", "2013", "2022", "Bob Tanaka joined as an engineer in March 2013"),
    ("Bob Tanaka", "works at", "Brightwater", "2022", None, "Bob Tanaka left for Brightwater in 2022"),
    ("Acme", "is based in", "Lyon", "2011", "2018", "Acme moved from Lyon to Antwerp"),
    ("Acme", "is based in", "Antwerp", "2018", None, "Acme moved from Lyon to Antwerp"),
)
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'><svg/onload=window.hacked=1>'


def vector(rng: np.random.Generator, place: int = 0) -> Any:
    """A unit vector near one of a few places."""
    made = rng.standard_normal(32) * 0.35
    made[place % 32] += 2.0
    return (made / np.linalg.norm(made)).astype(np.float32)


def year(value: str | None) -> dt.datetime | None:
    """The first moment of a year."""
    return None if value is None else dt.datetime(int(value), 1, 1, tzinfo=dt.UTC)


def tell(memory: Memory) -> str:
    """The report with its chunks, summaries, entities, facts and model calls; the document's id."""
    rng = np.random.default_rng(0)
    with memory.write() as tx:
        document = tx.artifact(REPORT, session_id="desk/1", source="https://example.org/acme.md", vector=vector(rng),
                               metadata={"user": "alice"})  # fmt: skip
        parts = [
            tx.chunk(document, chunk, vector=vector(rng, at)) for at, chunk in enumerate(split(REPORT, max_tokens=110))
        ]
        for at, part in enumerate(parts):
            tx.summary(part, f"Part {at + 1} tells of Acme and its people.", vector=vector(rng, at))
        joined = {part.id: part.text.replace("\n", " ") for part in parts}
        found = {
            name: tx.entity(
                name, type_, artifact=parts[0], vector=vector(rng, at), description=f"{name}, as the report has it."
            )
            for at, (name, type_) in enumerate(ENTITIES)
        }
        for source, relation, target, start, end, quote in FACTS:
            part = next((each for each in parts if quote in joined[each.id]), parts[0])
            at = joined[part.id].find(quote)
            span = None if at < 0 else (len(part.text[:at].encode()), len(part.text[: at + len(quote)].encode()))
            tx.edge(found[source], relation, found[target], artifact=part, fact=f"{source} {relation} {target}.",
                    valid_at=year(start), invalid_at=year(end), quote=span, vector=vector(rng))  # fmt: skip
    model = memory.models.register("gpt-small-2026", "openai")
    for at, part in enumerate(parts):
        memory.inferences.append(
            [Inference(id=new_id(), stage=stage, created_at=part.created_at, model_id=model.id, tokens_in=900 + at,
                       tokens_out=120, cost=0.0004, seconds=0.8, artifact_id=part.id, session_id="desk/1")
             for stage in ("extract_graph", "summarize_chunk")]
        )  # fmt: skip
    return document.id


def tell_hostile(memory: Memory) -> None:
    """A document, names and facts that would run in a page that trusted them."""
    rng = np.random.default_rng(1)
    with memory.write() as tx:
        note = tx.artifact(f"# {HOSTILE}\n\n{HOSTILE} met Alice.\n", session_id=HOSTILE, source=f"javascript:alert(1)//{HOSTILE}",
                           vector=vector(rng), metadata={HOSTILE: HOSTILE})  # fmt: skip
        one = tx.entity(HOSTILE, HOSTILE, artifact=note, description=HOSTILE, vector=vector(rng))
        two = tx.entity("javascript:alert(1)", "person", artifact=note, vector=vector(rng))
        tx.edge(one, HOSTILE, two, artifact=note, fact=HOSTILE, quote=HOSTILE, vector=vector(rng))


def crowd(memory: Memory, *, artifacts: int, entities: int, edges: int) -> None:
    """Many artifacts, and a graph of clusters."""
    rng = np.random.default_rng(2)
    for start in range(0, artifacts, 10_000):
        with memory.write() as tx:
            for n in range(start, min(start + 10_000, artifacts)):
                tx.artifact(f"Note {n}: the harbour handled {n} containers, and the fog came back.", session_id=f"s{n % 500}",
                            vector=vector(rng, n))  # fmt: skip
    groups = rng.integers(0, 40, entities)
    members = [np.flatnonzero(groups == group) for group in range(40)]
    types = ("person", "organization", "place", "event", "product", "concept", "document", "law")
    with memory.write() as tx:
        note = tx.artifact("A register of who knows whom.", vector=vector(rng))
        people = [
            tx.entity(
                f"Person {n} of {group}", types[group % len(types)], artifact=note, vector=vector(rng, int(group))
            )
            for n, group in enumerate(groups)
        ]
        for n in range(edges):
            one = int(rng.integers(entities))
            near = members[groups[one]] if rng.random() < 0.93 else np.arange(entities)
            start = 2000 + int(rng.integers(0, 25))
            tx.edge(people[one], ("knows", "works with", "reports to")[n % 3], people[int(rng.choice(near))], artifact=note,
                    fact=f"fact {n}", valid_at=year(str(start)), invalid_at=year(str(start + 3)) if n % 4 == 0 else None)  # fmt: skip
