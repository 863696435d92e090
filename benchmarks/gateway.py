"""What the gateway costs: latency over its upstream's at an open-loop rate, and requests a second of cached texts.

Every part runs in a process of its own: the upstream (a loopback provider that answers after 20 ms), the
gateway under uvicorn, the load. *Overhead*: requests leave at a fixed rate, whatever has come back; each has
a text of its own, so nothing is cached; by turns straight to the upstream and through the gateway; given is
the difference of medians, and the gateway's CPU, which is no matter of how busy the machine is. *Cached*: a closed loop over a few connections, by turns against the gateway (one text,
cached, base64) and against two bare FastAPI applications under the same uvicorn: one that reads a JSON
object and returns it, one that returns the body's bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.loopback import server

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDTH = 1536
_MODEL = "text-embedding-3-small"
_CONNECTIONS = 16

_GATEWAY = """
import sys, json
from unabridged.config import load_config
from unabridged.server.run import listen, serve
from unabridged.server.settings import ServerSettings
config = load_config(json.loads(sys.argv[1]))
settings = ServerSettings.of(config)
socket = listen(settings)
serve(config, settings, socket, told=lambda line: print(socket.getsockname()[1], flush=True))
"""
_ECHO = """
import asyncio, socket, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.post("/object")
async def object_(body: dict) -> dict:
    return body
@app.post("/bytes")
async def bytes_(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")
listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, ws="none", log_config=None, access_log=False)).run(sockets=[listening])
"""


@contextmanager
def program(source: str, *arguments: str) -> Iterator[tuple[int, int]]:
    """A Python program in a process of its own, which prints its port when it listens: the port, and its id."""
    process = subprocess.Popen([sys.executable, "-c", source, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), process.pid
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


class Client(asyncio.Protocol):
    """One connection, one request at a time: as little work of the client's own as can be."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._waiting: asyncio.Future[int] | None = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head = self._received.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._received.lower().find(b"content-length:", 0, head)
        size = int(self._received[at + 15 : self._received.find(b"\r\n", at)])
        if len(self._received) < head + 4 + size:
            return
        status = int(self._received[9:12])
        self._received.clear()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None:
            self._waiting.set_exception(exc or ConnectionResetError())

    def ask(self, message: bytes) -> asyncio.Future[int]:
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return self._waiting

    def close(self) -> None:
        self._transport.close()


async def connect(port: int) -> Client:
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    return client


def message(port: int, path: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(content) + content


async def closed_loop(port: int, request: bytes, seconds: float) -> float:
    """Requests a second over several connections, each asking as soon as it is answered."""
    clients = [await connect(port) for _ in range(_CONNECTIONS)]
    until = time.perf_counter() + seconds
    done = 0

    async def ask(client: Client) -> None:
        nonlocal done
        while time.perf_counter() < until:
            assert await client.ask(request) == 200
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*map(ask, clients))
    took = time.perf_counter() - started
    for client in clients:
        client.close()
    return done / took


async def open_loop(port: int, path: str, rate: float, seconds: float, mark: str) -> list[float]:
    """Seconds from when each request was due until its answer was whole; a text of its own for each."""
    free = [await connect(port) for _ in range(64)]
    took: list[float] = []
    started = time.perf_counter()

    async def ask(due: float, number: int) -> None:
        client = free.pop() if free else await connect(port)
        text = f"{mark} {number}: a passage as a retrieval system would send it, of one or two sentences. " * 4
        body = {"model": _MODEL, "input": text, "encoding_format": "base64"}
        status = await client.ask(message(port, path, body))
        if status != 200:
            raise RuntimeError(f"status {status}: this machine is too busy to measure on")
        took.append(time.perf_counter() - due)
        free.append(client)

    tasks = []
    for number in range(int(rate * seconds)):
        due = started + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(due, number)))
    await asyncio.gather(*tasks)
    for client in free:
        client.close()
    return took


def overhead(rate: float, seconds: float, rounds: int) -> dict[str, float]:
    """Medians straight and through, and their difference, in milliseconds."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(server("--dimensions", str(_WIDTH), "--latency", "0.02"))
        upstream = int(url.rpartition(":")[2].partition("/")[0])
        port, pid = stack.enter_context(program(_GATEWAY, json.dumps(_config(url, folder))))
        asyncio.run(open_loop(port, "/v1/embeddings", rate, 2, "warm"))
        straight: list[float] = []
        through: list[float] = []
        spent = _cpu(pid)
        for turn in range(rounds):
            straight += asyncio.run(open_loop(upstream, "/v1/embeddings", rate, seconds, f"s{turn}"))
            through += asyncio.run(open_loop(port, "/v1/embeddings", rate, seconds, f"t{turn}"))
        spent = _cpu(pid) - spent
    found = {
        f"{name}_p{p}_ms": _percentile(took, p) * 1e3
        for name, took in (("straight", straight), ("through", through))
        for p in (50, 99)
    }
    found["cpu_ms_a_request"] = spent / len(through) * 1e3
    found["overhead_p50_ms"] = found["through_p50_ms"] - found["straight_p50_ms"]
    return found


def cached(seconds: float, rounds: int) -> dict[str, float]:
    """Requests a second: medians over turns, and the gateway's share of each echo's."""
    body = {"model": _MODEL, "input": "A question as a search box would send it.", "encoding_format": "base64"}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = stack.enter_context(server("--dimensions", str(_WIDTH)))
        gateway, _ = stack.enter_context(program(_GATEWAY, json.dumps(_config(url, folder))))
        echo, _ = stack.enter_context(program(_ECHO))
        asked = {
            "gateway": (gateway, message(gateway, "/v1/embeddings", body)),
            "echo_object": (echo, message(echo, "/object", body)),
            "echo_bytes": (echo, message(echo, "/bytes", body)),
        }
        rates: dict[str, list[float]] = {name: [] for name in asked}
        for port, request in asked.values():
            asyncio.run(closed_loop(port, request, 0.5))
        for _ in range(rounds):
            for name, (port, request) in asked.items():
                rates[name].append(asyncio.run(closed_loop(port, request, seconds)))
    found = {f"{name}_per_s": statistics.median(each) for name, each in rates.items()}
    for name in ("echo_object", "echo_bytes"):
        found[f"share_of_{name}"] = statistics.median(g / e for g, e in zip(rates["gateway"], rates[name], strict=True))
    return found


def _config(url: str, folder: str) -> dict[str, Any]:
    return {
        "embedding": {"provider": "openai", "model": _MODEL, "apiKey": "k", "baseURL": url, "cache": f"{folder}/cache"},
        "dbPath": f"{folder}/memory",
        "server": {"port": 0, "keysFile": str(Path(folder) / "keys.json")},
    }


def _cpu(pid: int) -> float:
    """Seconds of CPU that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, and return what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gateway", description=__doc__)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["overhead", "cached"])
    given = parser.parse_args(arguments)
    try:
        import uvloop
    except ImportError:
        pass
    else:
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    found: dict[str, Any] = {}
    if given.only != "overhead":
        found["cached"] = cached(min(given.seconds, 2), given.rounds)
    if given.only != "cached":
        found["overhead"] = overhead(given.rate, given.seconds, given.rounds)
    for part in found.values():
        for name, value in part.items():
            part[name] = round(value, 3)
            print(f"{name:24} {value:10.3f}")
    return found


if __name__ == "__main__":
    main()
