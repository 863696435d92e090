"""The estimator against exact tokenizers, by kind of text: estimated over true tokens, piece by piece.

Below 1 the estimator errs low, and a chunk may be over a model's limit. The last column is the cost
of a CJK character that would have been enough for 99 of 100 pieces (SPEC C3).
"""

from __future__ import annotations

import argparse
import base64
import random
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import load
from unabridged.text.scan import Scan
from unabridged.text.tokens import Estimate, as_tokenizer

_VOCABULARIES = {"cl100k": "cl100k_base", "o200k": "o200k_base", "llama3": "llama3", "qwen3": "qwen3"}
_CHARACTERS = 1500
_PIECES = 300
_ARABIC = Path("/usr/share/doc/debian-handbook/html/ar-MA")
_THAI = (
    "ภาษาไทยเป็นภาษาที่เขียนโดยไม่เว้นวรรคระหว่างคำ ผู้อ่านต้องรู้จักคำเพื่อแบ่งประโยคเอง "
    "ข้อความยาวหนึ่งย่อหน้าอาจมีหลายประโยคต่อกัน และเครื่องหมายวรรคตอนมีน้อยมาก "
    "โปรแกรมที่ตัดข้อความจึงต้องระวังไม่ตัดสระหรือวรรณยุกต์ออกจากพยัญชนะของมัน "
)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure and print; the rows of the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks estimating", description=__doc__)
    parser.add_argument("--corpora", type=Path, default=Path("/tmp/unabridged-corpora"))
    options = parser.parse_args(arguments)
    rows = []
    for vocabulary, name in _VOCABULARIES.items():
        exact, estimate, calibrated = as_tokenizer(name), Estimate(), as_tokenizer(f"estimate/{vocabulary}")
        for kind, text in _kinds(options.corpora).items():
            pieces = [text[at : at + _CHARACTERS] for at in range(0, len(text), _CHARACTERS)]
            pieces = [piece for piece in pieces[:: max(1, len(pieces) // _PIECES)] if piece.strip()]
            true = np.array([exact.count(piece) for piece in pieces])
            plain = np.array([estimate.count(piece) for piece in pieces])
            raised = np.array([calibrated.count(piece) for piece in pieces])
            wide = np.array([_wide(piece) for piece in pieces])
            row: dict[str, Any] = {"vocabulary": vocabulary, "kind": kind, "pieces": len(pieces)}
            row |= {f"estimate {k}": v for k, v in _spread(plain / true).items()}
            row |= {f"calibrated {k}": v for k, v in _spread(raised / true).items()}
            dense = wide > _CHARACTERS // 4
            if dense.any():
                need = 1 + (true[dense] - plain[dense]) / wide[dense]
                row["CJK cost p99"] = round(float(np.percentile(need, 99)), 2)
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()))
    return {"unit": "estimated / true tokens", "characters a piece": _CHARACTERS, "rows": rows}


def _wide(piece: str) -> int:
    bits = Scan.of(piece, wide=True).wide
    return 0 if bits is None else int(np.bitwise_count(bits).sum())


def _spread(ratios: np.ndarray) -> dict[str, float]:
    low, middle, high = np.percentile(ratios, [1, 50, 99])
    return {"p1": round(float(low), 2), "median": round(float(middle), 2), "p99": round(float(high), 2)}


def _kinds(corpora: Path) -> dict[str, str]:
    random.seed(7)
    code = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    kinds = {
        "English prose": load(corpora, "en")[-4_000_000:],
        "English manuals": load(corpora, "en")[:8_000_000],
        "Python code": "\n".join(path.read_text("utf-8") for path in code),
        "Chinese and Japanese": load(corpora, "cjk"),
        "Thai": _THAI * 40,
        "emoji": "".join(random.choices("😀🎉👍🏽❤️🚀🐈🌍🇩🇪👨‍👩‍👧", k=20_000)),
        "base64": base64.b64encode(random.randbytes(60_000)).decode(),
    }
    if _ARABIC.is_dir():
        from benchmarks.corpora import pages

        kinds["Arabic"] = "\n\n".join(pages(_ARABIC.glob("*.html")))
    return kinds
