"""Files, folders and addresses (SPEC K1, K5): an identity each, and only changes are work."""

import http.server
import threading

import pytest

from unabridged.errors import InputError, UnreadableFile
from unabridged.memory import AsyncMemory
from unabridged.providers.fetching import fetch
from unabridged.testing import ChatServer

from .remembering import LONG, SMALL, asking, stages


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def memory(place, server, embedder):
    with asking(place, server=server, embedder=embedder) as (opened, _):
        yield opened
        opened.verify().raise_if_broken()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "texts"
    made.mkdir()
    (made / "a.md").write_text("# Notes\n\nAlice works at Acme.\n")
    (made / "long.txt").write_text(LONG)
    (made / "blank.txt").write_text("  \n\n")
    (made / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    return made


def test_k5_nothing_metadata_replace_insert_and_removed(memory, folder, server):
    given = {"chunking": SMALL}
    first = memory.ingest(folder, **given)
    assert first.counts == {"insert": 2, "skipped": 1}
    made = {each.source.rpartition("/")[2]: each for each in first.intakes}
    note = memory.artifacts.get(made["a.md"].artifact_id)
    assert (note.source, note.metadata) == ((folder / "a.md").as_uri(), {"title": "Notes"})
    assert note.source_hash
    asked, embeds, seq = server.total, len(memory.embedder.calls), memory.store.view().head.seq

    assert memory.ingest(folder, **given).counts == {"nothing": 2, "skipped": 1}
    assert (server.total, len(memory.embedder.calls), memory.store.view().head.seq) == (asked, embeds, seq)

    again = memory.ingest(folder, **given, metadata={"team": "blue"})
    assert again.counts == {"metadata": 2, "skipped": 1}
    assert (server.total, len(memory.embedder.calls)) == (asked, embeds)
    assert len(memory.artifacts.list(metadata={"team": "blue"}, role="chunk").items) == 4

    (folder / "long.txt").write_text(LONG.replace("Company7", "Company77"))
    changed = memory.ingest(folder, **given, metadata={"team": "blue"})
    assert changed.counts == {"nothing": 1, "skipped": 1, "replace": 1}
    sent = [text for call in memory.embedder.calls[embeds:] for text in call]
    assert [text for text in sent if "\n\n" in text] == [text for text in sent if "Company77." in text][:1]
    assert not any("Person0" in text for text in sent)  # K5: what did not change is not sent again
    assert memory.artifacts.counts().documents == 2
    assert {edge.fact for edge in memory.edges.list(limit=100).items} >= {
        "Person7 works at Company77",
        "Alice works at Acme",
    }
    assert "Person7 works at Company7" not in {edge.fact for edge in memory.edges.list(limit=100).items}

    (folder / "a.md").unlink()
    (folder / "long.txt").write_text(" ")
    gone = memory.ingest(folder, **given)
    assert gone.counts == {"skipped": 1, "removed": 2}
    assert memory.artifacts.counts().documents == 0
    assert memory.edges.count() == 0


def test_k5_what_a_folder_did_not_bring_is_not_removed(memory, folder):
    memory.remember("Own text.", source=(folder / "not-there.md").as_uri())
    (folder / "a.md").unlink()
    assert memory.ingest(folder, chunking=SMALL).counts == {"insert": 1, "skipped": 1}
    (folder / "long.txt").unlink()
    assert memory.ingest(folder, remove=False).counts == {"skipped": 1}
    assert memory.artifacts.counts().documents == 2


def test_k1_bytes_are_known_by_what_they_hold_or_by_the_source_given(memory):
    assert memory.ingest(b"Alice works at Acme.").counts == {"insert": 1}
    assert memory.ingest(b"Alice works at Acme.").counts == {"nothing": 1}
    assert memory.ingest(b"Bob works at Acme.", source="app://1").counts == {"insert": 1}
    assert memory.ingest(b"Carol works at Acme.", source="app://1").counts == {"replace": 1}
    assert {edge.fact for edge in memory.edges.list().items} == {"Alice works at Acme", "Carol works at Acme"}
    html = b"<html><body><h1>Top</h1><p>Dora works at Acme.</p></body></html>"
    made = memory.ingest(html, format="html").intakes[0]
    assert memory.artifacts.get(made.artifact_id).text.startswith("# Top")
    assert memory.artifacts.get(made.artifact_id).source.startswith("sha256:")


def test_k5_a_version_that_is_stored_in_part_is_finished(memory, folder, server, monkeypatch):
    from unabridged.memory.commits import Store

    move, moves = Store.move, []

    def failing(self, head, following):
        if threading.current_thread() is caller:  # upkeep moves the head, too, in a thread of its own
            moves.append(head)
        if len(moves) == 3:
            raise OSError("the disk is full")
        move(self, head, following)

    caller = threading.current_thread()
    monkeypatch.setattr(Store, "move", failing)
    with pytest.raises(Exception, match="chunk 2 of 4"):
        memory.ingest(folder / "long.txt", chunking=SMALL, on_error="raise")
    monkeypatch.setattr(Store, "move", move)
    assert memory.artifacts.counts().chunks == 1
    done = memory.ingest(folder / "long.txt", chunking=SMALL)
    assert done.counts == {"replace": 1}
    assert memory.artifacts.counts().chunks == 4
    assert memory.artifacts.counts().documents == 1
    assert stages(server) == {"extract": 4, "summarize": 4, "compare": 0}
    assert memory.ingest(folder / "long.txt", chunking=SMALL).counts == {"nothing": 1}


def test_one_that_fails_is_reported_and_the_others_go_on(memory, folder):
    found = memory.ingest([folder / "missing.md", folder / "a.md", folder / "image.png"])
    assert [each.outcome for each in found.intakes] == ["failed", "insert", "failed"]
    assert "no such file" in found.failed[0].reason
    with pytest.raises(UnreadableFile):
        memory.ingest(folder / "missing.md", on_error="raise")
    with pytest.raises(InputError, match="on_error"):
        memory.ingest(folder, on_error="stop")
    with pytest.raises(TypeError, match="idempotency_key"):
        memory.ingest(folder, idempotency_key="k")


async def test_async_callers(memory, folder):
    found = await AsyncMemory(memory).ingest(folder / "a.md")
    assert found.counts == {"insert": 1}


# -- addresses ----------------------------------------------------------------------------------------


class _Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/page")
            self.end_headers()
            return
        if self.path == "/round":
            self.send_response(302)
            self.send_header("location", "/round")
            self.end_headers()
            return
        if self.path == "/inside":
            self.send_response(302)
            self.send_header("location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()
            return
        self.send_response(200 if self.path.startswith("/page") else 404)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write("<html><body><p>Zoë works at Acme.</p></body></html>".encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def pages():
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_page_is_taken_in_where_it_may_be_reached(memory, pages):
    refused = memory.ingest(f"{pages}/page")
    assert refused.counts == {"failed": 1}
    assert refused.failed[0].advice == "private"
    made = memory.ingest(f"{pages}/moved#part", private=True).intakes[0]
    assert (made.outcome, made.source) == ("insert", f"{pages}/moved")
    assert memory.artifacts.get(made.artifact_id).text.strip() == "Zoë works at Acme."
    assert memory.ingest(f"{pages}/moved", private=True).counts == {"nothing": 1}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://0.0.0.0/",
        "http://[::ffff:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "http:///x",
        "http://user:secret@example.com/",
    ],
)
def test_addresses_that_are_not_reached(url):
    with pytest.raises(InputError, match="url:") as caught:
        fetch(url, timeout=5)
    assert "secret" not in str(caught.value)


def test_what_a_fetch_gives_up_on(pages):
    assert fetch(f"{pages}/page", private=True).charset == "utf-8"
    for path, words in (("/round", "redirects"), ("/nowhere", "404")):
        with pytest.raises(UnreadableFile, match=words):
            fetch(f"{pages}{path}", private=True)
    with pytest.raises(UnreadableFile, match="limit of 10 bytes"):
        fetch(f"{pages}/page", private=True, max_bytes=10)
    with pytest.raises(UnreadableFile, match="cannot be reached"):
        fetch("http://127.0.0.1:9/?token=secret", private=True, timeout=5)
    with pytest.raises(UnreadableFile) as caught:
        fetch("http://name.invalid/?token=secret", timeout=5)
    assert "secret" not in str(caught.value)


def test_k9_code_is_cut_at_definitions(memory, tmp_path):
    body = "\n".join(f"    value = value + {n}  # step {n}" for n in range(12))
    (tmp_path / "code.py").write_text("\n\n".join(f"def step_{n}(value):\n{body}\n    return value" for n in range(4)))
    made = memory.ingest(tmp_path / "code.py", chunking={"size": 150, "overlap_percent": 0}, extract=False).intakes[0]
    chunks = memory.artifacts.chunks(made.artifact_id)
    assert [chunk.text.split("(")[0] for chunk in chunks] == [f"def step_{n}" for n in range(4)]
    assert [chunk.section for chunk in chunks] == [f"step_{n}" for n in range(4)]


def test_k3_the_title_before_each_chunk_where_asked_for(memory, folder):
    (folder / "long.md").write_text("# The Register\n\n" + LONG)
    plain, titled = (
        memory.ingest(folder / "long.md", chunking=SMALL, extract=False, contextual_bm25=on, kind=kind).intakes[0]
        for on, kind in ((False, "knowledge"), (True, "memory"))
    )
    assert titled.outcome == "replace"
    chunks = memory.artifacts.chunks(titled.artifact_id)
    assert all(chunk.lexical.startswith("The Register\n\n") for chunk in chunks)
    assert all(chunk.text in LONG or chunk.chunk_index == 0 for chunk in chunks)
    assert memory.artifacts.many([plain.artifact_id]) == []


def test_a_folders_binary_files_and_the_memorys_own_are_passed_over(server, folder, embedder):
    (folder / "data.cfg").write_bytes(b"key = " + bytes(40) + b"\xff\xfe")
    (folder / "sub").mkdir()
    (folder / "sub" / "note.cfg").write_text("plain = 1")
    with asking(folder / "memory", server=server, embedder=embedder) as (memory, _):
        found = memory.ingest(folder, extract=False)
        assert not found.failed
        assert {each.source.rpartition("/")[2] for each in found.intakes if each.outcome == "insert"} == {
            "a.md",
            "long.txt",
            "note.cfg",
        }
        assert memory.ingest(folder / "data.cfg").counts == {"failed": 1}
