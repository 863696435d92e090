"""What the policy around a chat costs: asking through an ``Asker``, beside one raw request, and beside OpenAI's SDK.

The server runs in a process of its own; each way asks the same questions, in turns, so that the ratios hold on a
noisy machine. ``--latency`` is the server's, in seconds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.loopback import server
from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


def main(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="benchmarks asking", description=__doc__)
    parser.add_argument("--questions", type=int, default=160)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.05)
    given = parser.parse_args(arguments)
    with server("--dialect", "chat", "--latency", str(given.latency)) as url, tempfile.TemporaryDirectory() as folder:
        ways = _ways(url, folder)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for at in range(ROUNDS):
            for name, ask in ways.items():
                found[name].append(_timed(ask, given, at))
    ideal = given.questions * given.latency / given.concurrency
    rows = {name: _row(times, given.questions, ideal) for name, times in found.items()}
    for name, row in rows.items():
        print(
            f"{name:>12}  {row['questions_a_second']:7.1f}/s  {row['of_the_bound']:.0%}  {row['cpu_ms']:.2f} ms CPU a question"
        )
    return {"questions": given.questions, "concurrency": given.concurrency, "latency": given.latency, "ways": rows}


def _ways(url: str, folder: str) -> dict[str, Callable[[str], Any]]:
    chat = Chat("tiny", base_url=url)
    plain, kept = Asker(chat, cache=False), Asker(chat, cache=folder)
    ways: dict[str, Callable[[str], Any]] = {
        "raw Chat": lambda said: chat(_messages(said), None, 64),
        "Asker": lambda said: plain.ask(_messages(said), stage="answer_query"),
        "Asker, kept": lambda said: kept.ask(_messages(said), stage="answer_query"),
    }
    try:
        import openai
    except ImportError:
        return ways
    client = openai.OpenAI(base_url=url, api_key="none")
    ways["openai"] = lambda said: client.chat.completions.create(model="tiny", messages=_messages(said), max_tokens=64)
    return ways


def _messages(said: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"<text>\n{said}\n</text>"}]


def _timed(ask: Callable[[str], Any], given: argparse.Namespace, at: int) -> tuple[float, float]:
    started, spent = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(given.concurrency) as pool:
        list(pool.map(ask, (f"Alice works at Acme {at}-{n}." for n in range(given.questions))))
    return time.perf_counter() - started, time.process_time() - spent


def _row(times: list[tuple[float, float]], questions: int, ideal: float) -> dict[str, float]:
    wall, spent = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "questions_a_second": round(questions / wall, 1),
        "of_the_bound": round(ideal / wall, 3),
        "cpu_ms": round(1000 * spent / questions, 3),
    }
