"""Series, images, what stands outside the commit, pages, async callers."""

import asyncio
import datetime as dt
import math

import pytest

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory import AsyncMemory, Memory
from unabridged.memory.dataset import Lake
from unabridged.memory.images import ObjectFiles, media_type
from unabridged.memory.objects import Objects
from unabridged.memory.records import Pending, Point, RequestRecord
from unabridged.memory.values import new_id, now
from unabridged.memory.where import equals, literal
from unabridged.types import Chunk

GIF = b"GIF89a" + bytes(range(64))


def at(hour, minute=0):
    return dt.datetime(2024, 1, 1, hour, minute, tzinfo=dt.UTC)


# -- series -----------------------------------------------------------------------------------------


def test_series_points_are_appended_and_windows_say_what_they_hold(anywhere):
    memory = anywhere
    series = memory.series.create("temperature", unit="°C", metadata={"room": 1})
    assert memory.series.create("temperature").id == series.id
    assert memory.series.append(series, [(at(2), 3.0), (at(0), 1.0), ("2024-01-01T01:00Z", 2)]) == 3
    assert memory.series.append(series.id, [(at(0), 1.5)]) == 1  # nothing is overwritten
    assert memory.series.points(series) == [(at(0), 1.0), (at(0), 1.5), (at(1), 2.0), (at(2), 3.0)]
    assert memory.series.points(series, since=at(1), until=at(2)) == [(at(1), 2.0)]
    stats = memory.series.stats(series, since=at(0), until=at(3))
    assert (stats.count, stats.first, stats.last, stats.minimum, stats.maximum) == (4, 1.0, 3.0, 1.0, 3.0)
    assert (stats.change, stats.mean, stats.since, stats.until) == (2.0, 1.875, at(0), at(2))
    assert stats.trend == pytest.approx(24 * 0.8636, rel=1e-3)
    assert memory.series.stats(series, since=at(5)).count == 0
    windows = memory.series.windows(series, dt.timedelta(hours=2))
    assert [(start, each.count) for start, each in windows] == [(at(0), 3), (at(2), 1)]
    assert windows[1][1].trend is None
    assert memory.series.list(metadata={"room": 1}).items == (series,)


def test_a_deleted_series_leaves_its_observations(memory):
    note = memory.add("the room")
    series = memory.series.create("temperature", artifact=note)
    memory.series.append(series, [(at(0), 1.0)])
    with memory.write() as tx:
        seen = tx.observation(note, "It is warm.", query="temperature, 2024", series_id=series.id)
    assert memory.artifacts.list(series_id=series.id).items == (memory.artifacts.get(seen.id),)
    memory.series.delete(series)
    after = memory.artifacts.get(seen.id)
    assert (after.series_id, after.query, after.text) == (None, "temperature, 2024", "It is warm.")
    assert memory.store.place.open("points").count() == 0
    memory.series._points.append([Point(id=new_id(), series_id="gone", time=at(0), value=1.0)])
    assert memory.series.sweep() == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda s, x: s.append(x, [(at(0), math.nan)]), "finite"),
        (lambda s, x: s.append(x, [(at(0), True)]), "finite"),
        (lambda s, x: s.append(x, [(at(0), "1")]), "finite"),
        (lambda s, x: s.append(x, [(None, 1.0)]), "needs one"),
        (lambda s, x: s.windows(x, dt.timedelta(0)), "longer than nothing"),
        (lambda s, x: s.create(" "), "series name: is empty"),
    ],
)
def test_series_refuse_what_is_no_point(memory, wrong, said):
    series = memory.series.create("s")
    with pytest.raises(InputError, match=said):
        wrong(memory.series, series)
    with pytest.raises(NotFound):
        memory.series.append("absent", [(at(0), 1.0)])
    with pytest.raises(NotFound, match="anchor"):
        memory.series.create("t", artifact="absent")


# -- images -----------------------------------------------------------------------------------------


def test_a22_images_are_kept_by_content(anywhere, tmp_path):
    memory = anywhere
    note = memory.add("a picture of Alice")
    with memory.write() as tx:
        alice = tx.entity("Alice", "person", artifact=note)
    (tmp_path / "one.gif").write_bytes(GIF)
    one = memory.images.add(tmp_path / "one.gif", caption="Alice", session_id="s", artifact=note, shows=[alice])
    two = memory.images.add(GIF, metadata={"copy": True}, provenance={"modality": "image"})
    assert (one.sha256, one.media_type, one.size) == (two.sha256, "image/gif", len(GIF))
    assert memory.images.files.names() == [one.sha256]
    assert memory.images.read(one) == memory.images.read(two.id) == GIF
    assert memory.images.list(session_id="s").items == (one,)
    assert memory.images.list(metadata={"copy": True}).items == (memory.images.get(two.id),)
    assert memory.images.list(artifact=note).items == (one,)
    assert [(x.from_id, x.to_id) for x in memory.links.list(type="entity_image")] == [(alice.id, one.id)]
    assert memory.sessions.get("s").id == "s"
    assert memory.images.delete([one]) == 1
    assert memory.images.read(two) == GIF  # the other row has the same bytes
    assert memory.images.delete([two]) == 1
    assert memory.images.files.names() == []
    with pytest.raises(NotFound):
        memory.images.read(two)


def test_an_image_has_a_supplemental_vector_of_the_same_space(place, embedder):
    with Memory.open(place, embedder=embedder) as memory:
        memory.add("text")
        vector = embedder.embed_query("image")
        image = memory.images.add(GIF, vector=vector, fingerprint=embedder.fingerprint())
        assert image.embedder == embedder.fingerprint()
        assert memory.store.view()["images"].nearest(vector, 1)["id"].to_pylist() == [image.id]
        memory.verify().raise_if_broken()


def test_images_that_are_none_or_damaged(memory, monkeypatch):
    with pytest.raises(InputError, match="not a PNG"):
        memory.images.add(b"plain text")
    monkeypatch.setattr("unabridged.memory.images.MAX_IMAGE_BYTES", 10)
    with pytest.raises(InputError, match="limit of 10 bytes"):
        memory.images.add(GIF)
    monkeypatch.undo()
    image = memory.images.add(GIF)
    memory.images.files.write(image.sha256, b"something else")
    with pytest.raises(StoreError, match="SHA-256 differs"):
        memory.images.read(image)
    memory.images.files.write(image.sha256, GIF)
    with pytest.raises(NotFound, match="not in the dataset"):
        memory.images.add(GIF, artifact="absent")


def test_a_sweep_between_the_file_and_its_row_loses_nothing(memory, monkeypatch):
    write = type(memory.images.files).write
    swept = []

    def hasty(self, key, raw):
        write(self, key, raw)
        if not swept:
            swept.append(memory.images.sweep())

    monkeypatch.setattr(type(memory.images.files), "write", hasty)
    image = memory.images.add(GIF)
    assert swept == [1]
    assert memory.images.read(image) == GIF


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"\0\0\0\x1cftypheic", "image/heic"),
        (b"BM....", "image/bmp"),
        (b"II*\0", "image/tiff"),
        (b"<?xml version='1.0'?><svg/>", "image/svg+xml"),
    ],
)
def test_an_image_is_told_by_its_bytes(raw, kind):
    assert media_type(raw) == kind


def test_files_in_an_object_store(tmp_path):
    lake = Lake(str(tmp_path))
    files = ObjectFiles(Objects(lake, f"{lake.uri}/some.files"))
    assert files.names() == []
    files.write("ab" * 32, GIF)
    assert (files.names(), files.has("ab" * 32), files.has("cd" * 32)) == (["ab" * 32], True, False)
    assert files.read("ab" * 32) == GIF
    files.remove("ab" * 32)
    files.remove("ab" * 32)
    with pytest.raises(NotFound, match="the image's file is gone"):
        files.read("ab" * 32)
    with pytest.raises(StoreError, match="cannot be kept in a place of memory://"):
        Objects(Lake("memory://"), "memory://x").paths()


# -- outside the commit -------------------------------------------------------------------------------


def test_a18_models_and_inferences_outlive_a_failed_request(memory):
    from unabridged.memory.records import Inference

    model = memory.models.register("gpt-x", "somebody")
    assert memory.models.register("gpt-x", "somebody") == model
    assert memory.models.register("gpt-x", "other").id != model.id
    call = Inference(
        id="i1",
        stage="extract",
        created_at=now(),
        model_id=model.id,
        reasoning="low",
        tokens_in=100,
        tokens_out=20,
        cost=0.25,
        status="failed",
        artifact_id="a1",
        session_id="s",
        detail={"attempt": 1},
    )
    with pytest.raises(ZeroDivisionError), memory.write() as tx:
        tx.artifact("never stored")
        memory.inferences.append([call])
        raise ZeroDivisionError
    assert memory.inferences.get("i1") == call
    assert memory.inferences.of(session_id="s") == memory.inferences.of(artifact_ids=["a1"]) == [call]
    assert memory.inferences.of(artifact_ids=["a1"], session_id="other") == []
    assert memory.inferences.cost() == {"tokens_in": 100, "tokens_out": 20, "cost": 0.25}
    with pytest.raises(NotFound):
        memory.inferences.get("i2")


def test_queues_are_put_changed_and_deleted(memory):
    rows = [Pending(id=f"c{n}", document_id="d", created_at=now()) for n in range(3)]
    memory.pending.append(rows)
    memory.pending.put([Pending(id="c0", document_id="d", created_at=rows[0].created_at, attempts=2), *rows[:0]])
    memory.pending.put([Pending(id="c9", document_id="d", created_at=now())])
    assert memory.pending.count() == 4
    assert memory.pending.get("c0").attempts == 2
    claimed = equals("id", "c1") + " AND " + equals("status", "waiting")
    assert memory.pending.change(claimed, status=literal("taken"))
    assert not memory.pending.change(claimed, status=literal("taken"))  # somebody else has it
    assert [p.id for p in memory.pending.list(equals("status", "waiting"), order="id", limit=2)] == ["c0", "c2"]
    memory.pending.delete(equals("document_id", "d"))
    assert memory.pending.count() == 0
    memory.requests.put([RequestRecord(id="key", state="begun", created_at=now(), detail={"step": 1})])
    memory.requests.put([RequestRecord(id="key", state="done", created_at=now(), detail={"step": 2})])
    assert [(r.state, r.detail) for r in memory.requests.list()] == [("done", {"step": 2})]


def test_a_deleted_chunk_leaves_the_queue(memory):
    note = memory.add("text")
    memory.pending.append([Pending(id=note.id, document_id=note.id, created_at=now())])
    memory.delete(note)
    assert memory.pending.count() == 0


# -- pages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [0, 10**9])
@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_are_stable_while_others_write(memory, newest_first, large, monkeypatch):
    monkeypatch.setattr("unabridged.memory.paging.LARGE", large)  # above it the times are sorted first
    ids = [memory.add(f"n{n}", session_id="s" if n % 2 else None).id for n in range(9)]
    ids += [a.id for a in memory.add_many(["same", "moment", "all", "of them"])]
    seen, cursor = [], None
    while True:
        page = memory.artifacts.list(limit=3, cursor=cursor, newest_first=newest_first)
        seen += [a.id for a in page]
        cursor = page.cursor
        if len(seen) == 6 and newest_first:
            memory.add("in between")
        if cursor is None:
            break
    assert seen == (ids[::-1] if newest_first else ids)
    odd = memory.artifacts.list(session_id="s", limit=2)
    assert [a.text for a in odd] == ["n1", "n3"]
    assert [a.text for a in memory.artifacts.list(session_id="s", limit=2, cursor=odd.cursor)] == ["n5", "n7"]


def test_filters_of_artifacts(memory):
    with memory.write() as tx:
        note = tx.artifact("one", kind=" MEMORY ", valid_at="2020-01-01", source="file:a")
        tx.web_search(note, "found", query="one?")
    memory.add("two", valid_at="2021-01-01")
    listed = lambda **how: [a.text for a in memory.artifacts.list(**how)]  # noqa: E731, RUF100
    assert listed(kind="memory") == listed(role="document", source="file:a") == ["one"]
    assert listed(role="web_search") == listed(parent=note) == listed(document=note.id) == ["found"]
    assert listed(valid_since="2020-06-01") == ["two"]
    assert listed(valid_since="2020-01-01", valid_until="2021-01-01") == ["one", "found"]
    assert listed(created_since=note.created_at) == ["one", "found", "two"]
    assert listed(created_until=note.created_at) == []
    assert [a.text for a in memory.artifacts.children(note)] == ["found"]
    assert memory.artifacts.get(note.id).kind == "memory"
    assert memory.artifacts.list(role="web_search").items[0].is_derived
    assert not memory.artifacts.get(note.id).is_derived


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"limit": 0}, "1 to 1000"),
        ({"limit": 1001}, "1 to 1000"),
        ({"cursor": "x"}, "not one"),
        ({"cursor": "e30="}, "not one"),
    ],
)
def test_pages_refuse_what_is_no_page(memory, how, said):
    memory.add_many(["a", "b"])
    with pytest.raises(InputError, match=said):
        memory.artifacts.list(**how)
    other = memory.artifacts.list(limit=1, newest_first=True).cursor
    with pytest.raises(InputError, match="other order"):
        memory.artifacts.list(cursor=other)


# -- async ------------------------------------------------------------------------------------------


async def test_async_callers_are_never_blocked(place, tmp_path, embedder):
    async with await AsyncMemory.open(place, embedder=embedder) as memory:
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        clock = asyncio.create_task(tick())
        notes = await asyncio.gather(*(memory.add(f"note {n}", session_id="s") for n in range(8)))
        async with memory.write() as tx:
            note = tx.artifact("Alice")
            alice = tx.entity("Alice", "person", artifact=note)
        clock.cancel()
        assert len(ticks) > 5
        assert (await memory.get(notes[3].id)).text == "note 3"
        assert [e.artifact.id for e in await memory.evidence(alice)] == [note.id]
        await memory.add_many(["x", "y"])
        assert (await memory.update(notes[0], metadata={"a": 1})).metadata == {"a": 1}
        assert (await memory.delete(notes[0])).artifacts == (notes[0].id,)
        await memory.snapshot("one")
        await memory.restore("one")
        await memory.optimize()
        assert (await memory.export(tmp_path / "out")).tables["artifacts"]["rows"] == 10
        assert (await memory.verify()).ok
        assert (await memory.stats()).artifacts.documents == 10
        assert await memory.embed_missing() == 0
        assert (await memory.erase(session_id="s", drop_snapshots=True)).proof.holds
        assert (await memory.purge()).images == 0
        assert (await memory.run(memory.sync.artifacts.counts)).documents == 3
        with pytest.raises(ZeroDivisionError):
            async with memory.write() as tx:
                tx.artifact("never stored")
                raise ZeroDivisionError
        assert (await memory.stats()).artifacts.documents == 3


def test_A11_the_session_of_a_series_is_a_session(memory) -> None:
    memory.series.create("heart rate", session_id="night")
    assert memory.sessions.get("night").id == "night"


def test_a_changed_chunk_changes_what_hangs_from_it(memory) -> None:
    with memory.write() as tx:
        document = tx.artifact("One. Two.", metadata={"user": "a"})
        chunk = tx.chunk(document, Chunk(0, 0, 5, 0, 5, "One. ", 2))
        summary = tx.summary(chunk, "It says one.")
    memory.update(chunk, metadata={"user": "b"})
    assert memory.artifacts.get(summary.id).metadata == {"user": "b"}
    assert memory.artifacts.get(document.id).metadata == {"user": "a"}
