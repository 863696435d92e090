"""One server and one browser for each module's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from on_a_port import on_a_port
from page_seeding import crowd, tell, tell_hostile
from page_serving import Looking, application, chromium

from unabridged.testing import ChatServer


@pytest.fixture(scope="module")
def chat():
    """A chat server on loopback, for what a segmenter asks."""
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A folder that may be previewed: what is read, what is not, and what is hidden."""
    folder = tmp_path_factory.mktemp("Documents")
    (folder / "report.md").write_text("# Report\n\nThe fog came back. " * 60, "utf-8")
    (folder / "script.py").write_text("print('no')", "utf-8")
    (folder / ".secret.md").write_text("# hidden", "utf-8")
    (folder / "deep" / ".hidden").mkdir(parents=True)
    (folder / "deep" / ".hidden" / "a.md").write_text("# hidden", "utf-8")
    (folder / "deep" / "page.html").write_text(
        "<h1>Quay</h1><script>window.hacked=1</script><p>Ships wait.</p>", "utf-8"
    )
    outside = tmp_path_factory.mktemp("outside") / "private.md"
    outside.write_text("# private", "utf-8")
    (folder / "link.md").symlink_to(outside)
    (folder / "to-hidden.md").symlink_to(folder / ".secret.md")
    return folder


@pytest.fixture(scope="module")
def app(tmp_path_factory, documents, chat):
    """An application over a memory that was told a report, a hostile one, and a crowd."""
    made = application(
        tmp_path_factory.mktemp("page"),
        chat={
            "model": "tiny",
            "baseURL": chat.url,
            "apiKey": "k",
            "cache": False,
            "prices": {"tiny": {"input": 1, "output": 2}},
        },
        server={"folders": [str(documents)]},
    )
    made.state.document = tell(made.state.server.memory("default", create=True))
    tell_hostile(made.state.server.memory("default"))
    crowd(made.state.server.memory("crowd", create=True), artifacts=40, entities=120, edges=200)
    return made


@pytest.fixture(scope="module")
def root(app):
    """The server's address."""
    with on_a_port(app) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    """A real browser."""
    with chromium() as found:
        yield found


@pytest.fixture
def looking(browser, root):
    """A page of that browser, in which nothing may go wrong."""
    made = Looking(browser, root)
    yield made
    made.close()
