"""The tools ``list``, ``show``, ``graph`` and ``timeline``: what the memory holds, and where it comes from."""

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from unabridged.errors import NotFound
from unabridged.mcp.answers import Dated, Graph, Listing, Shown, Timeline
from unabridged.mcp.convert import SOURCES, cited, facts, source, told
from unabridged.mcp.place import Place
from unabridged.mcp.tools import Toolbox, request_of
from unabridged.memory import Memory
from unabridged.memory.graph import Evidence
from unabridged.memory.plain import plain
from unabridged.memory.recall.timeline import Period, entity_of
from unabridged.memory.records import Artifact, Entity

__all__ = ["Dataset", "register"]

Dataset = Annotated[
    str | None,
    Field(description="Another memory than this one; leave it out unless you were told of it."),
]
What = Literal["documents", "artifacts", "entities", "facts", "sessions", "series", "images", "inferences", "datasets"]
MAX_BYTES = 32 << 10  # of a text in one answer: about 8,000 tokens
MAX_ENTITIES = 500  # of one graph: more is no answer that anybody reads
_EXCERPT = 500  # characters of a text in a listing
_OURS = {"embedder", "splitter", "processed_at"}  # fingerprints, and when the store was done


def register(tools: Toolbox, place: Place) -> None:
    """Add the tools."""

    @tools.reads
    def list_(
        ctx: Context,
        what: Annotated[What, Field(description="artifacts: documents, their chunks, summaries.")] = "documents",
        session_id: Annotated[str | None, Field(description="Only of this session.")] = None,
        type: Annotated[str | None, Field(description="Entities: only of this type, such as person.")] = None,  # noqa: A002
        entity: Annotated[str | None, Field(description="Facts: only those at this entity (name or id).")] = None,
        include_history: Annotated[bool, Field(description="Facts: those that have ended as well.")] = False,  # noqa: FBT002
        limit: Annotated[int, Field(ge=1, le=200, description="Records on the page.")] = 20,
        cursor: Annotated[str | None, Field(description="From the page before.")] = None,
        dataset: Dataset = None,
    ) -> Listing:
        """List what the memory holds, newest first, a page at a time.

        Use it to look around; use `recall` to find something. Texts are shortened to 500 characters
        here, and `size` says how long they are: `show` gives one whole.
        """
        if what == "datasets":
            return Listing(items=[{"name": name} for name in place.datasets(request_of(ctx))])
        memory = place.memory(dataset, "read", request_of(ctx))
        where: dict[str, Any] = {"session_id": session_id, "limit": limit, "cursor": cursor, "newest_first": True}
        return _listed(memory, what, where, type, entity, include_history=include_history)

    @tools.reads
    def show(
        ctx: Context,
        id: Annotated[str, Field(description="Of anything, as `recall`, `list` and `remember` give it.")],  # noqa: A002
        start: Annotated[int | None, Field(ge=0, description="First byte of an artifact's UTF-8 text.")] = None,
        end: Annotated[int | None, Field(ge=0, description="The byte after the last one.")] = None,
        dataset: Dataset = None,
    ) -> Shown:
        """Show one record whole: an artifact's text (or some bytes of it), an entity, a fact; and what it rests on.

        Use it to check a fact against its source before you rely on it: `sources` quotes the passages.
        """
        memory = place.memory(dataset, "read", request_of(ctx))
        return _shown(memory, id, start, end)

    @tools.reads
    def graph(
        ctx: Context,
        entities: Annotated[list[str], Field(min_length=1, max_length=50, description="Names or ids.")],
        depth: Annotated[int, Field(ge=1, le=4, description="Steps from them.")] = 1,
        limit: Annotated[int, Field(ge=1, le=MAX_ENTITIES, description="Entities at the most.")] = 100,
        as_of: Annotated[str | None, Field(description="What was true then, such as 2024-05-01.")] = None,
        include_history: Annotated[bool, Field(description="Facts that have ended as well.")] = False,  # noqa: FBT002
        dataset: Dataset = None,
    ) -> Graph:
        """What is around some entities: the facts at them, and the entities at the other ends.

        Use it for "how is A related to B", or to see everything near a person, a place, a project.
        """
        memory = place.memory(dataset, "read", request_of(ctx))
        near = memory.neighbourhood(entities, depth=depth, limit=limit, as_of=as_of, include_history=include_history)
        return Graph(
            entities=[told(each) for each in near.entities],
            facts=facts(memory, near.edges, near.entities),
            more=len(near.entities) >= limit,
        )

    @tools.reads
    def timeline(
        ctx: Context,
        entity: Annotated[str, Field(description="Name or id.")],
        dataset: Dataset = None,
    ) -> Timeline:
        """Everything that was ever said of an entity, in the order in which it became true, ended facts included.

        Use it for "where did she live before", "who had this role when": `invalid_at` null is what still holds.
        """
        line = place.memory(dataset, "read", request_of(ctx)).timeline(entity)
        periods = [_period(line.entity, each) for each in line.periods]
        return Timeline(entity=told(line.entity), facts=periods)


def _period(entity: Entity, period: Period) -> Dated:
    ends = (entity.name, period.other.name)
    source, target = ends if period.edge.source_id == entity.id else ends[::-1]
    edge = period.edge
    times = {"valid_at": period.since, "invalid_at": period.until}
    sources = [cited(each) for each in period.evidence[:SOURCES]]
    said: dict[str, Any] = {"relation": edge.relation, "fact": edge.fact, "sources": sources, **times}
    return Dated(id=edge.id, source=source, target=target, **said)


def _listed(
    memory: Memory, what: What, where: dict[str, Any], type_: str | None, entity: str | None, *, include_history: bool
) -> Listing:
    if what == "facts":
        at = None if entity is None else entity_of(memory.source, entity)
        page = memory.edges.list(entity=at, include_history=include_history, **where)
        return Listing(items=[each.model_dump(mode="json") for each in facts(memory, page)], cursor=page.cursor)
    if what == "inferences":
        found = memory.inferences.page(limit=where["limit"], cursor=where["cursor"], newest_first=True)
        return Listing(items=[plain(each) for each in found], cursor=found.cursor)
    if what == "sessions":
        del where["session_id"]
    if what == "entities":
        where["type"] = type_
    if what == "documents":
        what, where["role"] = "artifacts", "document"
    records = getattr(memory, what).list(**where)
    return Listing(items=[_brief(plain(each)) for each in records], cursor=records.cursor)


def _brief(record: dict[str, Any]) -> dict[str, Any]:
    """What a page has room for: no empty fields, none of the store's own, long texts shortened, and said to be."""
    text = record.get("text")
    if isinstance(text, str) and len(text) > _EXCERPT:
        record |= {"text": text[:_EXCERPT] + "…", "size": len(text.encode())}
    return {name: value for name, value in record.items() if value not in (None, {}, []) and name not in _OURS}


def _shown(memory: Memory, id_: str, start: int | None, end: int | None) -> Shown:
    if found := memory.artifacts.many([id_]):
        return _artifact(memory, found[0], start, end)
    if entities := memory.entities.many([id_]):
        at = memory.edges.list(entity=id_, include_history=True, limit=100)
        grounds = _sources(memory.evidence(id_))
        return Shown(kind="entity", record=plain(entities[0]), sources=grounds, facts=facts(memory, at, entities))
    if edges := memory.edges.many([id_]):
        ends = [told(each) for each in memory.entities.many([edges[0].source_id, edges[0].target_id])]
        grounds = _sources(memory.evidence(id_))
        return Shown(kind="fact", record=plain(edges[0]), sources=grounds, entities=ends, facts=facts(memory, edges))
    return _other(memory, id_)


def _artifact(memory: Memory, artifact: Artifact, start: int | None, end: int | None) -> Shown:
    record = plain(artifact)
    raw = record.pop("text").encode()
    whole = len(raw) if end is None else end
    text = memory.slice(artifact, start or 0, whole)
    after = None
    if end is None and len(text.encode()) > MAX_BYTES:
        text = text.encode()[:MAX_BYTES].decode(errors="ignore")
        after = (start or 0) + len(text.encode())
    made = memory.contribution(artifact)
    return Shown(
        kind="artifact",
        record=record,
        text=text,
        size=len(raw),
        next_start=after,
        entities=[told(each) for each in made.entities],
        facts=facts(memory, made.edges, made.entities),
    )


def _sources(evidence: tuple[Evidence, ...]) -> Any:
    return [source(each) for each in evidence]


def _other(memory: Memory, id_: str) -> Shown:
    shelves = {"series": memory.series, "image": memory.images, "inference": memory.inferences}
    for kind, shelf in {**shelves, "session": memory.sessions}.items():
        try:
            return Shown(kind=kind, record=plain(shelf.get(id_)))  # type: ignore[attr-defined]
        except NotFound:
            continue
    raise NotFound("nothing of that id is in the memory; ids come from `recall`, `list` and `remember`")
