"""The nine tools of the reference memory server, under their own names, on our graph."""

from typing import Annotated

from mcp.server.mcpserver import Context
from pydantic import BaseModel, ConfigDict, Field

from unabridged.mcp import reference
from unabridged.mcp.place import Place
from unabridged.mcp.reading_tools import Dataset
from unabridged.mcp.reference import Node, ReferenceGraph
from unabridged.mcp.tools import Toolbox, request_of

__all__ = ["register"]


class Entity(BaseModel):
    """An entity with its observations."""

    name: str = Field(min_length=1, description="Its name, which is its identity.")
    entityType: str = Field(min_length=1, description="Such as person, organization, project.")  # noqa: N815
    observations: list[str] = Field(description="What is known of it, one statement each.")


class Relation(BaseModel):
    """A relation between two entities, in the active voice."""

    model_config = ConfigDict(populate_by_name=True)

    from_: str = Field(alias="from", min_length=1, description="Name of the entity where it starts.")
    to: str = Field(min_length=1, description="Name of the entity where it ends.")
    relationType: str = Field(min_length=1, description="Such as works_at.")  # noqa: N815


class Observations(BaseModel):
    """Observations for an entity."""

    entityName: str = Field(min_length=1)  # noqa: N815
    contents: list[str]


class Deletions(BaseModel):
    """Observations to delete from an entity."""

    entityName: str = Field(min_length=1)  # noqa: N815
    observations: list[str]


class Entities(BaseModel):
    """Entities that were made."""

    entities: list[Entity]


class Relations(BaseModel):
    """Relations that were made."""

    relations: list[Relation]


class Added(BaseModel):
    """Observations that were new."""

    entityName: str  # noqa: N815
    addedObservations: list[str]  # noqa: N815


class AddedAll(BaseModel):
    """Observations that were new, for each entity."""

    results: list[Added]


class Done(BaseModel):
    """What was deleted."""

    success: bool
    message: str


class KnowledgeGraph(BaseModel):
    """Entities, and the relations at them."""

    entities: list[Entity]
    relations: list[Relation]
    more: bool = Field(default=False, description="Whether there is more than fits: search_nodes finds it.")


def register(tools: Toolbox, place: Place) -> None:  # noqa: C901 (nine small functions, none of which is)
    """Add the tools."""

    def graph(ctx: Context, dataset: str | None, right: str) -> ReferenceGraph:
        return ReferenceGraph(place.memory(dataset, right, request_of(ctx)))

    @tools.adds
    def create_entities(ctx: Context, entities: list[Entity], dataset: Dataset = None) -> Entities:
        """Create new entities in the knowledge graph, with their observations; names that are known are left alone."""
        made = graph(ctx, dataset, "write").create_entities(
            [Node(each.name, each.entityType, tuple(each.observations)) for each in entities]
        )
        return Entities(entities=[_entity(each) for each in made])

    @tools.adds
    def create_relations(ctx: Context, relations: list[Relation], dataset: Dataset = None) -> Relations:
        """Create new relations between entities that exist, in the active voice; known ones are left alone."""
        made = graph(ctx, dataset, "write").create_relations([_given(each) for each in relations])
        return Relations(relations=[_relation(each) for each in made])

    @tools.adds
    def add_observations(ctx: Context, observations: list[Observations], dataset: Dataset = None) -> AddedAll:
        """Add observations to entities that exist; those that are known are left alone."""
        given: dict[str, list[str]] = {}
        for each in observations:
            given.setdefault(each.entityName, []).extend(each.contents)
        added = graph(ctx, dataset, "write").add_observations(given)
        return AddedAll(results=[Added(entityName=name, addedObservations=texts) for name, texts in added.items()])

    @tools.removes
    def delete_entities(
        ctx: Context,
        entityNames: Annotated[list[str], Field(description="Their names.")],  # noqa: N803
        dataset: Dataset = None,
    ) -> Done:
        """Delete entities with their observations and relations. It cannot be undone."""
        count = graph(ctx, dataset, "write").delete_entities(entityNames)
        return Done(success=True, message=f"{count} entities deleted")

    @tools.removes
    def delete_observations(ctx: Context, deletions: list[Deletions], dataset: Dataset = None) -> Done:
        """Delete observations of entities, by their exact texts. It cannot be undone."""
        given: dict[str, list[str]] = {}
        for each in deletions:
            given.setdefault(each.entityName, []).extend(each.observations)
        count = graph(ctx, dataset, "write").delete_observations(given)
        return Done(success=True, message=f"{count} observations deleted")

    @tools.removes
    def delete_relations(ctx: Context, relations: list[Relation], dataset: Dataset = None) -> Done:
        """Delete relations between entities; the entities stay. It cannot be undone."""
        count = graph(ctx, dataset, "write").delete_relations([_given(each) for each in relations])
        return Done(success=True, message=f"{count} relations deleted")

    @tools.reads
    def read_graph(ctx: Context, dataset: Dataset = None) -> KnowledgeGraph:
        """Read the whole knowledge graph. For a large one, use search_nodes or recall."""
        nodes, relations, more = graph(ctx, dataset, "read").read()
        return _knowledge(nodes, relations, more=more)

    @tools.reads
    def search_nodes(
        ctx: Context,
        query: Annotated[str, Field(description="Looked for in names, types and observations.")],
        dataset: Dataset = None,
    ) -> KnowledgeGraph:
        """Search the knowledge graph for entities, and the relations at them. recall finds by meaning as well."""
        return _knowledge(*graph(ctx, dataset, "read").search(query))

    @tools.reads
    def open_nodes(
        ctx: Context, names: Annotated[list[str], Field(description="Their names.")], dataset: Dataset = None
    ) -> KnowledgeGraph:
        """Open entities of the knowledge graph by their names, and the relations at them."""
        return _knowledge(*graph(ctx, dataset, "read").open(names))


def _given(relation: Relation) -> reference.Relation:
    return reference.Relation(relation.from_, relation.to, relation.relationType)


def _relation(relation: reference.Relation) -> Relation:
    return Relation(**{"from": relation.source, "to": relation.target, "relationType": relation.type})


def _entity(node: Node) -> Entity:
    return Entity(name=node.name, entityType=node.type, observations=[*node.observations])


def _knowledge(nodes: list[Node], relations: list[reference.Relation], *, more: bool = False) -> KnowledgeGraph:
    return KnowledgeGraph(entities=[*map(_entity, nodes)], relations=[*map(_relation, relations)], more=more)
