"""Records of any kind by their ids: what each is, letting go of it, and facts that end (R5, A4, A9, A10, A20)."""

import pytest

from unabridged.errors import InputError, NotFound
from unabridged.memory.forgetting import kinds_of

GIF = b"GIF89a" + bytes(range(64))
WORKS = (("Alice", "person"), "works at", ("Acme", "firm"))
LIVES = (("Alice", "person"), "lives in", ("Berlin", "city"))


@pytest.fixture
def filled(anywhere, say):
    note, (works, lives) = say(anywhere, "Alice works at Acme and lives in Berlin", WORKS, LIVES, session_id="monday")
    image = anywhere.images.add(GIF, shows=[works.source_id])
    series = anywhere.series.create("rate")
    anywhere.series.append(series, [("2024-01-01", 60)])
    return anywhere, note, works, lives, image, series


def test_r5_every_id_has_a_kind(filled):
    memory, note, works, _, image, series = filled
    ids = [note.id, works.source_id, works.id, series.id, image.id, "monday", "nothing"]
    kinds = ["artifacts", "entities", "edges", "series", "images", "sessions"]
    assert kinds_of(memory.source, ids) == dict(zip(ids, kinds, strict=False))


def test_r5_records_of_all_kinds_go_together(filled):
    memory, note, works, lives, image, series = filled
    done = memory.forget([works.id, image.id, series.id])
    assert (done.edges, done.images, done.series, done.artifacts) == ((works.id,), (image.id,), (series.id,), ())
    assert [edge.id for edge in memory.edges.list()] == [lives.id]
    assert memory.artifacts.get(note.id).text.startswith("Alice")
    assert memory.images.files.names() == []
    assert memory.series.list().items == ()
    done = memory.forget([note.id, lives.target_id])
    assert done.artifacts == (note.id,)
    assert lives.id in done.edges
    assert set(done.entities) == {works.source_id, works.target_id, lives.target_id}
    assert memory.entities.count() == 0


def test_r5_nothing_goes_where_one_is_not_there_or_is_a_session(filled):
    memory, note, works, *_ = filled
    with pytest.raises(NotFound, match="1 of 2 id"):
        memory.forget([note.id, "nothing"])
    with pytest.raises(InputError, match="erased with its texts"):
        memory.forget([works.id, "monday"])
    assert memory.artifacts.get(note.id)
    assert memory.edges.get(works.id)


def test_an_image_that_goes_with_its_text_is_not_missed(memory):
    note = memory.add("a picture of Acme")
    image = memory.images.add(GIF, artifact=note)
    done = memory.forget([note.id, image.id])
    assert (done.artifacts, done.images) == ((note.id,), (image.id,))


def test_a9_a_fact_ends_by_what_says_so_and_opens_again_without_it(filled):
    memory, note, works, *_ = filled
    ended = memory.end(works, text="Alice left Acme.", at="2999-05-31")
    assert ended.invalid_at.isoformat() == "2999-05-31T00:00:00+00:00"
    (link,) = memory.edges.contradictions(works)
    assert memory.artifacts.get(link.to_id).text == "Alice left Acme."
    assert memory.end(works.id, artifact=note).invalid_at < ended.invalid_at  # an earlier end is in force
    assert memory.forget([link.to_id]).artifacts == (link.to_id,)
    assert memory.edges.get(works.id).invalid_at is not None
    with pytest.raises(InputError, match="a text or an artifact"):
        memory.end(works)
    with pytest.raises(NotFound):
        memory.end("nothing", text="it is over")
    assert memory.artifacts.counts().documents == 1
