"""The page's files: what is sent, with what rules, and that they load nothing from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from unabridged.errors import MissingExtra
from unabridged.server import page
from unabridged.server.page import POLICY, assets

WEB = Path(str(files("unabridged"))) / "web"
SOURCES = sorted(path for path in WEB.rglob("*") if path.suffix in {".js", ".css", ".html"})


@pytest.fixture(scope="module")
def client(root):
    with httpx.Client(base_url=root) as made:
        yield made


def test_the_page_and_every_file_of_it_come_under_its_policy(client):
    version, found = assets()
    index = client.get("/")
    assert index.headers["content-security-policy"] == POLICY
    assert f"assets/{version}/js/app.js" in index.text
    for name in found:
        got = client.get(f"/assets/{version}/{name}")
        assert got.status_code == 200
        assert got.content == found[name].body
        assert "immutable" in got.headers["cache-control"]
        assert got.headers["x-content-type-options"] == "nosniff"
    assert client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_policy_lets_nothing_inline_run():
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert "unsafe" not in POLICY
    assert rules["require-trusted-types-for"] == "'script'"


def test_old_addresses_and_unknown_ones_are_answered_with_sense(client):
    version, found = assets()
    old = client.get("/assets/older/js/app.js")
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-cache")
    for path in ("nothing.js", "../page.py", "%2e%2e/page.py", "js/../../page.py", "js"):
        assert client.get(f"/assets/{version}/{path}").status_code == 404
    same = client.get("/", headers={"if-none-match": found["index.html"].etag})
    assert (same.status_code, same.content) == (304, b"")


def test_whoever_only_asks_whether_it_is_there_gets_no_body(client):
    answer = client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-security-policy"] == POLICY
    assert client.post("/").status_code == 405


def test_files_travel_packed_where_the_browser_can_unpack_them(client):
    version, found = assets()
    plain = client.get(f"/assets/{version}/js/app.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = client.get(f"/assets/{version}/js/app.js")
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content == found["js/app.js"].body
    assert sum(len(asset.packed) for asset in found.values()) < 80_000


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".js"], ids=lambda path: path.name)
def test_comments_of_scripts_stay_at_home_and_every_line_keeps_its_number(path):
    sent = assets()[1][path.relative_to(WEB).as_posix()].body.decode().split("\n")
    written = path.read_text("utf-8").split("\n")
    assert len(sent) == len(written)
    left_out = [own for own, line in zip(written, sent, strict=True) if own != line]
    assert left_out
    assert all(line.lstrip().startswith(("//", "/**", "*")) for line in left_out), "comments, and nothing else"
    assert not any(line.lstrip().startswith(("//", "/**")) for line in sent)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_file_reads_markup_or_loads_from_elsewhere(path):
    text = path.read_text("utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text)
    assert not re.findall(r"(?:src|href|from|import|url)\s*[=(]?\s*[\"'(]https?://", text)
    assert "cdn" not in text.lower()
    assert len(text.splitlines()) <= 400
    if path.suffix == ".html":
        assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\bsrc=)", text)


def test_every_import_leads_to_a_file():
    for path in SOURCES:
        for target in re.findall(r"(?:from|import\()\s*\"(\.[^\"]+)\"", path.read_text("utf-8")):
            assert (path.parent / target).resolve().is_file(), f"{path.name} imports {target}"


IMPORTED = re.compile(r'^import .* from "([^"]+)\.js";$', re.MULTILINE)


def _needs(name):
    """All that a module imports, and what that imports, by their paths under ``js``."""
    found, wanted = set(), [name]
    while wanted:
        at = wanted.pop()
        if at not in found:
            found.add(at)
            folder = (WEB / "js" / at).parent
            paths = IMPORTED.findall((WEB / "js" / f"{at}.js").read_text("utf-8"))
            wanted.extend(str((folder / path).resolve().relative_to(WEB.resolve() / "js")) for path in paths)
    return found


def test_all_that_a_view_needs_is_asked_for_before_it_is_loaded():
    index = (WEB / "index.html").read_text("utf-8")
    always = set(re.findall(r"js/(\w+)\.js", index)) | _needs("app")
    listed = dict(re.findall(r"^    (\w+): \[(.*)\],$", (WEB / "js" / "theme.js").read_text("utf-8"), re.MULTILINE))
    views = re.findall(r'path: "(\w+)".*import\("\./(views/\w+)\.js"\)', (WEB / "js" / "app.js").read_text("utf-8"))
    assert len(views) == len(listed)
    for path, module in views:
        assert set(re.findall(r'"([\w/]+)"', listed[path])) == _needs(module) - always, path


def test_where_the_store_is_missing_the_page_comes_all_the_same(monkeypatch):
    def missing(_place):
        raise MissingExtra("lancedb", "memory")

    monkeypatch.setattr(page, "Lake", missing)
    page._import_store()
