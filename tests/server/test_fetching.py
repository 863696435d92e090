"""Issue 10, 5: SSRF closed for fetched addresses: by whatever name, form or detour, nothing of this network is reached."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unabridged.errors import InputError, UnreadableFile
from unabridged.providers import fetching
from unabridged.providers.fetching import fetch


@pytest.fixture
def inside():
    """A server of this machine's own, that counts who asks."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302 if self.path.startswith("/to?") else 200)
            if self.path.startswith("/to?"):
                self.send_header("location", self.path[4:])
            self.end_headers()
            self.wfile.write(b"an inner secret")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.asked = asked
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


FORMS = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.0.0.1", "localhost", "LOCALHOST", "0.0.0.0", "0",
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "127.0.0.1.", "①②⑦.⓪.⓪.①",
]  # fmt: skip


@pytest.mark.parametrize("host", FORMS)
def test_this_machine_is_not_reached_by_any_of_its_names(inside, host) -> None:
    with pytest.raises((InputError, UnreadableFile)) as refused:
        fetch(f"http://{host}:{inside.server_port}/secret", timeout=5)
    assert inside.asked == []
    assert "secret" not in str(refused.value) or isinstance(refused.value, UnreadableFile)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "192.88.99.1", "198.18.0.1",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "::",
        "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "2001:db8::1", "2002:a00:1::", "2001:0:7f00:1::",
    ],
)  # fmt: skip
def test_what_belongs_to_a_network_or_to_no_one_is_closed(address) -> None:
    assert not fetching._public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
def test_the_open_network_is_open(address) -> None:
    assert fetching._public(address)


def test_a_name_that_resolves_elsewhere_the_second_time_is_not_asked_twice(inside, monkeypatch) -> None:
    """DNS rebinding: what was looked at is what is connected to; a name is resolved once a connection."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    told = []

    def resolve(host, port, **_):
        told.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in next(answers)]

    reached = []

    def connect(address, *args, **options):
        reached.append(address[0])
        raise OSError("no network here")

    monkeypatch.setattr(fetching.socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(UnreadableFile):
        fetch("http://rebind.example/", timeout=5)
    assert told == ["rebind.example"]
    assert reached == ["93.184.216.34"]


@pytest.mark.parametrize("among", [["93.184.216.34", "10.0.0.1"], ["10.0.0.1", "93.184.216.34"]])
def test_one_address_inside_closes_a_name(monkeypatch, among) -> None:
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in among]
    monkeypatch.setattr(fetching.socket, "getaddrinfo", lambda *_, **__: rows)
    with pytest.raises(InputError, match="1 of its 2 addresses"):
        fetch("http://mixed.example/")


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "gopher://x/", "//user:pw@127.0.0.1/", "ftp://x/", "http://u:p@h/"]
)
def test_a_redirect_leads_to_no_other_kind_of_place(inside, to) -> None:
    with pytest.raises(InputError):
        fetch(f"http://127.0.0.1:{inside.server_port}/to?{to}", private=True, timeout=5)
    assert len(inside.asked) == 1


def test_a_redirect_into_this_machine_is_looked_at_again(inside, monkeypatch) -> None:
    looked = []

    def public(address):
        looked.append(address)
        return len(looked) == 1  # the first host is let in, as one of the open network would be

    monkeypatch.setattr(fetching, "_public", public)
    port = inside.server_port
    with pytest.raises(InputError, match="belong to this machine"):
        fetch(f"http://127.0.0.1:{port}/to?http://localhost:{port}/secret", timeout=5)
    assert len(looked) >= 2
    assert inside.asked == [f"/to?http://localhost:{port}/secret"]


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://h/", "http://", "http://user:pw@h/", "javascript:1", "/etc/passwd"]
)
def test_what_is_no_address_of_the_web_is_refused_without_its_secrets(url) -> None:
    with pytest.raises(InputError) as refused:
        fetch(url)
    assert "pw" not in str(refused.value)
