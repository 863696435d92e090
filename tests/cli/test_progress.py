"""Issue 2, point 6: on a terminal the line shows the time left within two seconds; in a pipe nothing."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from unabridged.cli.progress import Pace, ProgressLine
from unabridged.embedding.results import Progress
from unabridged.testing import LoopbackProvider

LINE = re.compile(r"━")
LEFT = re.compile(r"(\d s|\d:\d\d) left")


def watch(words: list[str], folder: Path, *, until: float) -> dict[str, float]:
    """When the line and the time left first stood on a terminal, in seconds; then the program is interrupted."""
    terminal, inner = pty.openpty()
    script = "from unabridged.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        env={**os.environ, "UNABRIDGED_CACHE": str(folder / "cache"), "COLUMNS": "120", "TERM": "xterm-256color"},
    )
    os.close(inner)
    seen: dict[str, float] = {}
    began, shown = time.monotonic(), ""
    while "left" not in seen and time.monotonic() - began < until:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError:
                break
        for name, pattern in (("line", LINE), ("left", LEFT)):
            if name not in seen and pattern.search(shown):
                seen[name] = time.monotonic() - began
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # the other end is closed
        while os.read(terminal, 65536):
            pass
    os.close(terminal)
    seen["code"] = process.wait(timeout=30)
    return seen


def test_the_time_left_stands_there_before_a_slow_server_has_answered(tmp_path) -> None:
    (tmp_path / "log.txt").write_text("2026-03-14 a line of a log, number 17\n" * 20_000)
    with LoopbackProvider("openai", latency=4.0) as server:
        words = ["embed", str(tmp_path / "log.txt"), "-o", str(tmp_path / "out.parquet")]
        words += ["--model", "openai/nomic-embed-text-v1.5", "--base-url", server.url]
        seen = watch([*words, "--max-tokens", "100"], tmp_path, until=30)
    assert seen["left"] - seen["line"] < 3.0  # two seconds, and one for a machine that has others to serve
    assert seen["code"] == 130
    assert not list(tmp_path.glob("*out*"))


def test_the_embedded_model_tells_from_the_first_moment(tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "book.txt").write_text("".join(f"Sentence {n} of a book with many. " for n in range(20_000)))
    seen = watch(["embed", str(tmp_path / "book.txt"), "-o", str(tmp_path / "out.npy")], tmp_path, until=30)
    assert seen["left"] - seen["line"] < 2.0
    assert seen["code"] == 130
    assert not list(tmp_path.glob("*out*"))


def test_nothing_of_it_in_a_pipe(tmp_path) -> None:
    script = "from unabridged.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "embed", "--text", "x", "-m", "hashing", "--no-cache"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "━" not in done.stderr + done.stdout
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pace_counts_down_between_samples_and_admits_that_it_is_late() -> None:
    pace = Pace(total=100)
    assert not pace.begun
    assert pace.left(0.0) is None
    pace.add(0, now=0.0)
    pace.add(20, now=2.0)
    assert pace.left(2.0) == 8.0
    assert pace.left(5.0) == 5.0
    assert pace.left(12.0) == 48.0  # nothing for ten seconds: 20 in 12 s it is
    pace.add(100, now=13.0)
    assert pace.left(13.0) == 0.0


def test_a_pace_looks_back_only_so_far() -> None:
    pace = Pace(total=1000)
    for second in range(60):
        pace.add(second if second < 30 else 30 + (second - 30) * 10, now=float(second))
    assert pace.rate() == pytest.approx(10.0)


def test_what_was_cached_does_not_make_the_rest_look_fast() -> None:
    pace = Pace(total=1000)
    pace.add(900, now=0.0)
    pace.add(910, now=1.0)
    assert pace.left() == 9.0


def test_at_least_so_long_while_nothing_has_come_back() -> None:
    pace = Pace(total=100)
    assert pace.least(10, 1.0) is None
    pace.add(0, now=0.0)
    assert pace.least(10, 2.0) == 18.0
    assert pace.least(0, 2.0) is None
    assert pace.least(100, 2.0) is None  # everything is under way: nothing can be said


def test_batches_of_which_the_size_shows_late_add_to_the_whole() -> None:
    with ProgressLine(0, 1, quiet=True) as line:
        line.batch(1000, total=1000)
        line.step(Progress(texts=1, texts_done=0, tokens=100, tokens_done=0, requests=0, seconds=0.0))
        line.step(Progress(texts=1, texts_done=0, tokens=100, tokens_done=50, requests=1, seconds=1.0))
        assert line._pace.total == 1000
        assert line._pace._samples[-1][1] == 500
        line.batch_done(1)
        assert line._pace.left() == 0.0
