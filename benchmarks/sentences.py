"""Sentence boundaries on the golden rules of pySBD, beside pySBD, sentencex, Blingfire and nupunkt.

    python -m benchmarks sentences RULES [--corpus FILE]

``RULES`` is the folder ``tests/lang`` of a checkout of pySBD (MIT): lists of (text, sentences) in 23
languages, the 48 English ones after the Pragmatic Segmenter's. A rule counts where all of its sentences are
right; white space is folded, since some rules change it. pySBD and sentencex are told the language, the others
are not. Speed is CPU time over ``--corpus``, the best of three.
"""

from __future__ import annotations

import argparse
import ast
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable

CODES = {
    "amharic": "am", "arabic": "ar", "armenian": "hy", "bulgarian": "bg", "burmese": "my", "chinese": "zh",
    "danish": "da", "deutsch": "de", "dutch": "nl", "english": "en", "french": "fr", "greek": "el", "hindi": "hi",
    "italian": "it", "japanese": "ja", "kazakh": "kk", "marathi": "mr", "persian": "fa", "polish": "pl",
    "russian": "ru", "slovak": "sk", "spanish": "es", "urdu": "ur",
}  # fmt: skip


def rules(folder: Path, language: str) -> list[tuple[str, list[str]]]:
    """The (text, sentences) pairs of one language."""
    found = []
    for node in ast.walk(ast.parse((folder / f"test_{language}.py").read_text("utf-8"))):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.List)):
            continue
        for each in node.value.elts:
            pair = each.args[:2] if isinstance(each, ast.Call) else getattr(each, "elts", [])
            try:
                text, wanted = (ast.literal_eval(part) for part in pair)
            except ValueError:
                continue
            found.append((text, [" ".join(part.split()) for part in wanted]))
    return found


def ours(text: str) -> list[str]:
    pieces, at = [], 0
    for end in [*sentences(text), len(text)]:
        pieces.append(text[at:end])
        at = end
    return pieces


def splitters(code: str) -> dict[str, Callable[[str], list[str]]]:
    """Each splitter that is installed, as a function of a text."""
    made: dict[str, Callable[[str], list[str]]] = {"unabridged": ours}
    try:
        import pysbd

        made["pysbd"] = pysbd.Segmenter(language=code, clean=False).segment
    except ImportError:
        pass
    try:
        import sentencex

        made["sentencex"] = lambda text: list(sentencex.segment(code, text))
    except ImportError:
        pass
    try:
        import blingfire

        made["blingfire"] = lambda text: blingfire.text_to_sentences(text).split("\n")
    except ImportError:
        pass
    try:
        import nupunkt

        made["nupunkt"] = lambda text: list(nupunkt.sent_tokenize(text))
    except ImportError:
        pass
    return made


def speed(split: Callable[[str], list[str]], text: str, patience: float = 20.0) -> float:
    """MB/s of CPU time; a slow splitter is measured on a part."""
    size = 20_000
    while True:
        part = text[:size]
        started = time.process_time()
        split(part)
        took = time.process_time() - started
        if size >= len(text) or took > patience / 8:
            return round(len(part.encode()) / max(took, 1e-9) / 1e6, 2)
        size *= 4


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", type=Path)
    parser.add_argument("--corpus", type=Path)
    given = parser.parse_args(arguments)
    right: dict[str, dict[str, int]] = {}
    counts = {}
    for language, code in CODES.items():
        cases = rules(given.rules, language)
        counts[language] = len(cases)
        for name, split in splitters(code).items():
            good = sum([" ".join(p.split()) for p in split(text) if p.strip()] == wanted for text, wanted in cases)
            right.setdefault(name, {})[language] = good
    total = sum(counts.values())
    rows = {name: {"english": found["english"], "all": sum(found.values())} for name, found in right.items()}
    if given.corpus:
        text = given.corpus.read_text("utf-8")[:8_000_000]
        for name, split in splitters("en").items():
            rows[name]["mb_per_s"] = max(speed(split, text) for _ in range(3 if name == "unabridged" else 1))
    names = [name for name in rows if name != "unabridged"]
    for name, row in rows.items():
        print(
            f"{name:12} English {row['english']}/{counts['english']}  all {row['all']}/{total}  {row.get('mb_per_s', '')}"
        )
    return {
        "rules": {"english": counts["english"], "all": total},
        "right": rows,
        "by_language": right,
        "versions": {name: version(name) for name in names},
    }


if __name__ == "__main__":
    main()
