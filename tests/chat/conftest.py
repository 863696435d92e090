"""What the tests of chats share: askers whose answers are kept in the test's own folder."""

import pytest

from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat


@pytest.fixture
def ask_at(tmp_path):
    """Askers of a server, closed at the end."""
    opened = []

    def make(server, *, model="tiny", cache=False, chat=None, **options):
        chat = Chat(model, base_url=server.url, **(chat or {}))
        opened.append(Asker(chat, cache=tmp_path / "answers" if cache is True else cache, **options))
        return opened[-1]

    yield make
    for asker in opened:
        asker.close()


@pytest.fixture
def user():
    """Messages of one user."""
    return lambda said: [{"role": "user", "content": said}]
