"""SPEC S16: a preview with every setting before anything is spent; only files that a setting names, never hidden ones."""

from __future__ import annotations

import io
import os
import zipfile

import httpx
import pytest
from on_a_port import on_a_port
from page_serving import application

from unabridged.errors import InputError, NotFound, SegmentFallback
from unabridged.server.preview_cuts import Paid, Recipe, Tools, cut, offsets, price
from unabridged.server.preview_files import Folders, kind_of, media_type_of
from unabridged.server.preview_shelf import Shelf, opened, pasted
from unabridged.server.preview_state import Previews
from unabridged.text.documents import read_document
from unabridged.text.segmenters import segment_spec, segmenters, split

METHODS = [row.name for row in segmenters()]
TEXT = "# One\n\nFirst thought; then a second one. 😀 A third.\n\n# Two\n\nThe pilot waits 3.2 hours. " * 30
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


@pytest.fixture(scope="module")
def client(root):
    with httpx.Client(base_url=root, timeout=60) as made:
        yield made


def document(client, text=TEXT):
    return client.post("/v1/gb/preview/documents", json={"text": text}).json()


def cuts(client, recipes, **more):
    opened_one = document(client)
    return client.post("/v1/gb/preview/cuts", json={"document": opened_one["id"], "recipes": recipes, **more})


# -- what is told beforehand ----------------------------------------------------------------------------------


def test_s16_every_segmenter_and_its_settings_are_offered(client):
    told = client.get("/v1/gb/preview").json()
    assert [row["name"] for row in told["segmenters"]] == METHODS
    own = {row["name"]: row["settings"] for row in told["segmenters"]}
    assert own["semantic"] == ["semantic_window", "semantic_percentile"]
    assert own["recursive"] == ["separators"]
    assert told["llm"] == {"name": "tiny", "prices": [1.0, 2.0]}
    assert told["embedder"]["prices"] == [0.0, 0.0]
    assert told["limits"]["max_cost_usd"] == 1.0
    assert [name[:9] for name in told["folders"]] == ["Documents"]


# -- cutting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_s16_chunks_are_those_of_split(client, method):
    (got,) = cuts(client, [{"method": method, "max_tokens": 60, "overlap_tokens": 9}]).json()["results"]
    if method == "proposition":  # it calls a model: its price alone
        assert "chunks" not in got
        assert got["cost"]["calls"] > 0
        return
    with pytest.warns(SegmentFallback) if method == "page" else _quiet():
        made = split(read_document(TEXT), method, max_tokens=60, overlap_tokens=9, embedder="lexical")
    text = TEXT.encode("utf-16-le")
    assert got["method"] == made.method
    assert [row["tokens"] for row in got["chunks"]] == [chunk.tokens for chunk in made]
    for row, chunk in zip(got["chunks"], made, strict=True):
        assert text[2 * row["start"] : 2 * row["end"]].decode("utf-16-le") == chunk.source_text
        assert row.get("prefix", "") + chunk.source_text == chunk.text
    assert got["stats"]["n"] == len(made)
    assert got["stats"]["over_cap"] == 0


def _quiet():
    import warnings

    return warnings.catch_warnings()


def test_several_recipes_stand_beside_each_other_and_a_wrong_one_harms_none(client):
    answer = cuts(
        client,
        [
            {"name": "a", "method": "fixed"},
            {"method": "fixd"},
            {"method": "semantic", "settings": {"semantic_window": 0}},
        ],
    )
    good, unknown, wrong = answer.json()["results"]
    assert good["name"] == "a"
    assert good["chunks"]
    assert "did you mean 'fixed'" in unknown["error"]
    assert "semantic_window" in wrong["error"]


def test_a_question_marks_the_chunks_that_it_finds(client):
    (got,) = cuts(
        client, [{"method": "structural", "max_tokens": 64}], question="How long does the pilot wait?"
    ).json()["results"]
    assert 0 < len(got["hits"]) <= 5
    opened_one = document(client)["text"].encode("utf-16-le")
    best = got["chunks"][got["hits"][0]]
    assert "pilot" in opened_one[2 * best["start"] : 2 * best["end"]].decode("utf-16-le")


def test_sizes_out_of_range_are_corrected_and_said(client):
    (got,) = cuts(client, [{"method": "paragraph", "max_tokens": 5, "overlap_tokens": 900}]).json()["results"]
    assert got["cap"] == 32
    assert any("max_tokens" in line for line in got["warnings"])


@pytest.mark.parametrize("body", [
    {"recipes": []}, {"recipes": [{}] * 9}, {"recipes": [{}], "tokenizer": "/etc/passwd.json"},
    {"recipes": [{"mehtod": "fixed"}]}, {"recipes": [{}], "max_cost_usd": -1},
])  # fmt: skip
def test_wrong_requests_are_refused_with_a_reason(client, body):
    answer = client.post("/v1/gb/preview/cuts", json={"document": document(client)["id"], **body})
    assert 400 <= answer.status_code < 500
    assert answer.json()["detail"]
    assert "/etc/passwd" not in answer.text


# -- what would be spent --------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [
    {"method": "proposition", "settings": {"proposition_batch_tokens": 300}},
    {"method": "contextual", "settings": {"context_source": "llm"}, "max_tokens": 200},
    {"method": "semantic", "embedder": "api", "max_tokens": 200},
])  # fmt: skip
def test_s16_no_model_is_called_before_it_is_asked_for(client, chat, recipe):
    before = len(chat.requests)
    (told,) = cuts(client, [recipe]).json()["results"]
    assert len(chat.requests) == before
    assert "chunks" not in told
    assert told["cost"]["calls"] >= 1
    (paid,) = cuts(client, [recipe], spend=True).json()["results"]
    assert paid["chunks"]
    assert paid["trace"]["calls"] >= 1
    assert told["cost"]["calls"] * 0.4 <= paid["trace"]["calls"] <= told["cost"]["calls"] * 2.5
    if recipe["method"] != "semantic":
        assert len(chat.requests) > before
        assert told["cost"]["usd"] > 0


def test_s16_a_blank_cost_cap_leaves_the_configured_one_in_force_and_none_lifts_it(client):
    assert cuts(client, [{}]).json()["limits"]["max_cost_usd"] == 1.0
    assert cuts(client, [{}], max_cost_usd=None).json()["limits"]["max_cost_usd"] == 1.0
    assert cuts(client, [{}], max_cost_usd=0.25).json()["limits"]["max_cost_usd"] == 0.25
    assert cuts(client, [{}], max_cost_usd=1e6).json()["limits"]["max_cost_usd"] == 1.0


def test_limits_end_model_calls_and_the_text_is_kept(client, chat):
    recipe = {"method": "contextual", "settings": {"context_source": "llm"}, "max_tokens": 100}
    before = len(chat.requests)
    (got,) = cuts(client, [recipe], spend=True, max_calls=2).json()["results"]
    assert len(chat.requests) - before <= 2
    assert got["extra"]["blurbs_missing"] == len(got["chunks"]) - 2
    assert got["warnings"]


def test_without_models_nothing_costs_and_fallbacks_are_said():
    told = cut(read_document(TEXT), Recipe("p", {"method": "proposition"}), Tools())
    assert told["cost"] is None
    assert told["method"] == "proposition->sentence"
    assert any("no llm" in line for line in told["warnings"])


def test_a_price_that_is_not_known_is_not_made_up():
    tools = Tools(llm=Paid(str, "somebody's"))
    told = price(read_document(TEXT), segment_spec("proposition"), Recipe("p", {}), tools)
    assert told["usd"] is None
    assert told["tokens_in"] > 0


@pytest.mark.parametrize(
    "text", ["", "ascii only", "äöü 東京", "a😀b😀", "\U0001f469\u200d\U0001f467 x", "\ud800 lone 😀"]
)
def test_offsets_are_those_of_a_browser(text):
    places = list(range(len(text) + 1))
    wide = [len(text[:at].encode("utf-16-le", "surrogatepass")) // 2 for at in places]
    assert offsets(text, places) == wide


# -- which files ----------------------------------------------------------------------------------------------


def test_s16_a_folder_lists_what_may_be_read_and_nothing_hidden(client):
    top = client.get("/v1/gb/preview/folders/0").json()
    assert [entry["name"] for entry in top["entries"]] == ["deep", "report.md"]
    deep = client.get("/v1/gb/preview/folders/0", params={"path": "deep"}).json()
    assert [(entry["path"], entry["kind"]) for entry in deep["entries"]] == [("deep/page.html", "html")]
    got = client.post("/v1/gb/preview/documents", json={"folder": 0, "path": "deep/page.html"}).json()
    assert "Ships wait." in got["text"]
    assert "hacked" not in got["text"]


@pytest.mark.parametrize("path", [
    "../outside0/private.md", "deep/../../outside0/private.md", "/etc/hostname.txt", ".secret.md", "deep/.hidden/a.md", "link.md",
    "to-hidden.md", "nothing.md", "deep\\page.html", "a\0.md", "deep/./.hidden/a.md", "..%2foutside0/private.md", "~/x.md", "",
])  # fmt: skip
def test_s16_what_is_outside_hidden_or_not_there_is_answered_alike(client, path):
    answer = client.post("/v1/gb/preview/documents", json={"folder": 0, "path": path})
    assert answer.status_code in {400, 404}
    assert "private" not in answer.text.replace(path, "")
    assert "# hidden" not in answer.text


def test_other_kinds_of_files_and_other_folders_are_refused(client):
    kind = client.post("/v1/gb/preview/documents", json={"folder": 0, "path": "script.py"})
    assert kind.status_code == 400
    assert "print" not in kind.text
    assert client.post("/v1/gb/preview/documents", json={"folder": 7, "path": "report.md"}).status_code == 404
    assert client.get("/v1/gb/preview/folders/1").status_code == 404
    assert client.get("/v1/gb/preview/folders/0", params={"path": "report.md"}).status_code == 404
    assert client.post("/v1/gb/preview/documents", json={}).status_code == 400


def test_a_pipe_named_as_a_text_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    folders = Folders([tmp_path])
    assert folders.list(0) == ((), False)
    with pytest.raises(NotFound):
        folders.read(0, "pipe.txt", 100)


def test_large_files_and_folders_have_an_end(tmp_path):
    (tmp_path / "long.txt").write_bytes(b"x" * 101)
    with pytest.raises(InputError, match="over the 100 bytes"):
        Folders([tmp_path]).read(0, "long.txt", 100)
    for n in range(1005):
        (tmp_path / f"{n}.md").touch()
    entries, more = Folders([tmp_path]).list(0)
    assert (len(entries), more) == (1000, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_not_there(tmp_path):  # pragma: no cover
    (tmp_path / "a.md").touch(mode=0)
    with pytest.raises(NotFound):
        Folders([tmp_path]).read(0, "a.md", 10)


@pytest.mark.parametrize(("name", "data", "kind"), [
    ("a.md", b"# A", "markdown"), ("b.TXT", b"plain", "text"), ("c.htm", b"<p>hi</p>", "html"), ("d.png", PNG, "image"),
    ("../../e.md", b"x", "markdown"), ("C:\\docs\\f.txt", b"x", "text"),
])  # fmt: skip
def test_a_file_that_is_sent_is_read_by_its_kind(client, name, data, kind):
    answer = client.post("/v1/gb/preview/uploads", params={"name": name}, content=data)
    assert answer.status_code == 201
    assert answer.json()["kind"] == kind
    assert "/" not in answer.json()["name"]


@pytest.mark.parametrize(("name", "data", "status"), [
    ("a.exe", b"MZ", 400), ("noending", b"x", 400), ("e.svg", b"<svg onload='x'/>", 400), ("f.png", b"<html>", 400), ("g.pdf", b"%PDF-1.7 broken", 400),
    ("h.docx", b"no zip", 400), ("i.txt", b"\x00\x01\x02" * 50, 400),
])  # fmt: skip
def test_what_is_not_what_its_name_says_is_refused(client, name, data, status):
    answer = client.post("/v1/gb/preview/uploads", params={"name": name}, content=data)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]


def test_pdf_and_word_are_read_with_their_pages(client, tmp_path):
    from docx import Document as Word
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "two.pdf"))
    for page in ("The first page speaks of harbours.", "The second one of fog."):
        canvas.drawString(72, 700, page)
        canvas.showPage()
    canvas.save()
    sent = client.post(
        "/v1/gb/preview/uploads", params={"name": "two.pdf"}, content=(tmp_path / "two.pdf").read_bytes()
    ).json()
    assert sent["pages"] == 2
    body = {"document": sent["id"], "recipes": [{"method": "page"}]}
    (got,) = client.post("/v1/gb/preview/cuts", json=body).json()["results"]
    assert [chunk["page"] for chunk in got["chunks"]] == [1, 2]
    word = Word()
    word.add_paragraph("A letter.")
    word.save(tmp_path / "letter.docx")
    sent = client.post(
        "/v1/gb/preview/uploads", params={"name": "letter.docx"}, content=(tmp_path / "letter.docx").read_bytes()
    )
    assert "A letter." in sent.json()["text"]


def test_a_word_file_that_unfolds_without_end_is_not_unfolded(client):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file, file.open("word/document.xml", "w") as part:
        for _ in range(300):
            part.write(bytes(1 << 20))
    assert len(packed.getvalue()) < 1 << 20
    sent = client.post("/v1/gb/preview/uploads", params={"name": "bomb.docx"}, content=packed.getvalue())
    assert sent.status_code == 400
    assert "unfolds to over" in sent.json()["detail"]


def test_an_image_is_shown_as_it_is_and_has_no_chunks(client):
    sent = client.post("/v1/gb/preview/uploads", params={"name": "d.png"}, content=PNG).json()
    shown = client.get(f"/v1/gb/preview/documents/{sent['id']}/image")
    assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    note = document(client, "text")
    assert client.get(f"/v1/gb/preview/documents/{note['id']}/image").status_code == 404


def test_kinds_and_images_are_told_by_name_and_by_first_bytes():
    assert [kind_of(name) for name in ("a.Md", "b", ".pdf", "x.tar.gz")] == ["markdown", None, "pdf", None]
    assert media_type_of(b"RIFF0000WEBPVP8 ") == "image/webp"
    assert media_type_of(b"GIF89a") == "image/gif"
    assert media_type_of(b"nothing") is None


# -- the shelf ------------------------------------------------------------------------------------------------


def test_the_shelf_lets_go_of_what_was_asked_for_longest_ago():
    shelf = Shelf(most=250)
    first, second = (shelf.keep(opened(f"{n}.txt", b"x" * 100)) for n in range(2))
    shelf.get(first)
    third = shelf.keep(opened("2.txt", b"x" * 100))
    assert shelf.get(first).name == "0.txt"
    assert shelf.get(third).name == "2.txt"
    with pytest.raises(NotFound, match="open it again"):
        shelf.get(second)


def test_names_on_the_shelf_cannot_be_guessed(client):
    names = {document(client, "a")["id"] for _ in range(20)}
    assert len(names) == 20
    assert all(len(name) >= 20 for name in names)
    assert client.post("/v1/gb/preview/cuts", json={"document": "guess", "recipes": [{}]}).status_code == 404


def test_an_empty_text_and_half_a_pair_of_surrogates_are_texts(client):
    assert document(client, "")["characters"] == 0
    answer = client.post(
        "/v1/gb/preview/documents", content=b'{"text": "a\\ud800b"}', headers={"content-type": "application/json"}
    )
    assert answer.status_code in {201, 422}
    assert pasted("a\ud800b").document.text == "a\ufffdb"


@pytest.mark.parametrize(
    "text", ["/etc/hostname", "README.md", "./pyproject.toml", "~/.bashrc", "Words in a row " * 40]
)
def test_a_text_is_never_taken_for_the_name_of_a_file(client, text):
    got = document(client, text)
    assert got["text"] == text


def test_uploads_are_bounded(tmp_path):
    app = application(tmp_path)
    app.state.previews = Previews(max_bytes=1000)
    with on_a_port(app) as address, httpx.Client(base_url=address) as client:
        assert client.post("/v1/gb/preview/uploads", params={"name": "a.txt"}, content=b"x" * 1001).status_code == 413
        assert client.post("/v1/gb/preview/documents", json={"text": "x" * 1001}).status_code == 413
        assert client.post("/v1/gb/preview/uploads", params={"name": "a.txt"}, content=b"x" * 1000).status_code == 201


def test_keys_that_only_read_spend_nothing(tmp_path):
    from unabridged.server.keys import KeyFile

    _, reads = KeyFile(tmp_path / "keys.json").add("reader", scopes=("read",))
    app = application(tmp_path)
    with on_a_port(app) as address, httpx.Client(base_url=address) as client:
        assert client.get("/v1/gb/preview").status_code == 401
        client.headers["authorization"] = f"Bearer {reads}"
        assert client.get("/v1/gb/preview").status_code == 200
        assert client.get("/v1/gb/configuration").status_code == 403
        body = {"document": document(client, "some text")["id"], "recipes": [{}]}
        assert client.post("/v1/gb/preview/cuts", json=body).status_code == 200
        assert client.post("/v1/gb/preview/cuts", json={**body, "spend": True}).status_code == 403
        assert client.get("/").status_code == 200  # the page itself holds no data
