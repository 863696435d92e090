"""Real text to measure on, made from documentation that Debian packages; nothing is downloaded here.

``apt-get install --no-install-recommends`` these, then ``python -m benchmarks corpora FOLDER``::

    python3.11-doc linux-doc-6.1 bible-kjv                                            -> en.txt
    debian-reference-zh-cn debian-reference-ja debian-handbook gimp-help-ja
    gimp-help-zh-cn manpages-ja manpages-zh (and linux-doc-6.1's translations)        -> cjk.txt

``en.txt`` is Python's documentation, 10 MB of the kernel's and the King James Bible; ``cjk.txt`` is
the Chinese and Japanese pages of which at least two characters in five are CJK. Documents are joined by blank lines and kept as they are, but for
markup: tags in HTML, requests and escapes in manual pages.
"""

from __future__ import annotations

import gzip
import html
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["build", "documents", "load", "main", "pages"]

_SHARE = Path("/usr/share")
_KERNEL = _SHARE / "doc/linux-doc-6.1/html/_sources"
_KERNEL_BYTES = 10_000_000
_HIDDEN = re.compile(r"(?s)<(script|style|head)\b.*?</\1>|<!--.*?-->")
_BLOCK_END = re.compile(r"</(?:p|li|h[1-6]|div|tr|pre|dt|dd)>|<br\s*/?>")
_TAG = re.compile(r"<[^>]*>")
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_CJK = re.compile("[\u3001-\u30ff\u3400-\u9fff\uff00-\uffef]")
_CJK_SHARE = 0.4
_ROFF_ESCAPE = re.compile(r"\\(?:f.|-|&|\(..|s[+-]?\d|\*.|e)")


def main(arguments: list[str] | None = None) -> None:
    """Build both corpora in the folder that is named."""
    for name, size in build(Path((arguments or ["corpora"])[0])).items():
        print(f"{name}.txt: {size / 1e6:.1f} MB")


def build(folder: Path) -> dict[str, int]:
    """Write ``en.txt`` and ``cjk.txt`` into a folder; the bytes of each."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for name, texts in {"en": _english(), "cjk": filter(_is_cjk, _cjk())}.items():
        joined = "\n\n".join(text.strip("\n") for text in texts) + "\n"
        (folder / f"{name}.txt").write_text(joined, "utf-8", newline="")
        sizes[name] = len(joined.encode())
    return sizes


def load(folder: Path, name: str) -> str:
    """One corpus, built if it is not there yet."""
    path = folder / f"{name}.txt"
    if not path.is_file():
        build(folder)
    return path.read_text("utf-8")


def documents(text: str, size: int = 100_000) -> list[str]:
    """The corpus in documents of about ``size`` bytes of UTF-8."""
    characters = round(size * len(text) / len(text.encode()))
    return [text[at : at + characters] for at in range(0, len(text), characters)]


def _english() -> Iterator[str]:
    yield from _plain(sorted((_SHARE / "doc/python3.11/html/_sources").rglob("*.txt")))
    taken = 0
    for text in _plain(sorted(path for path in _KERNEL.rglob("*.txt") if "translations" not in path.parts)):
        if (taken := taken + len(text)) > _KERNEL_BYTES:
            break
        yield text
    if bible := shutil.which("bible"):
        yield subprocess.run([bible, "Gen1:1-Rev22:21"], capture_output=True, check=True, text=True).stdout


def _cjk() -> Iterator[str]:
    for language in ("zh-cn", "ja"):
        yield from pages((_SHARE / "debian-reference").glob(f"*.{language}.html"))
    for language in ("zh-CN", "zh-TW", "ja-JP"):
        yield from pages((_SHARE / "doc/debian-handbook/html" / language).glob("*.html"))
    for language in ("ja", "zh_CN"):
        yield from pages((_SHARE / "gimp/2.0/help" / language).glob("*.html"))
    for language in ("ja", "zh_CN", "zh_TW"):
        yield from _manuals((_SHARE / "man" / language).rglob("*.gz"))
    for language in ("zh_CN", "zh_TW", "ja_JP"):
        yield from _plain(sorted((_KERNEL / "translations" / language).rglob("*.txt")))


def _is_cjk(text: str) -> bool:
    return len(_CJK.findall(text)) >= _CJK_SHARE * len("".join(text.split()))


def _plain(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield path.read_text("utf-8", errors="replace")


def pages(paths: Iterable[Path]) -> Iterator[str]:
    """HTML files as text, blocks apart by blank lines."""
    for path in sorted(paths):
        body = _BLOCK_END.sub("\n\n", _HIDDEN.sub("", path.read_text("utf-8", errors="replace")))
        yield _BLANK_LINES.sub("\n\n", html.unescape(_TAG.sub("", body)))


def _manuals(paths: Iterable[Path]) -> Iterator[str]:
    for path in sorted(path for path in paths if not path.is_symlink()):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            lines = [_manual_line(line) for line in file if not line.startswith(('.\\"', "'\\\"", ".TH"))]
        yield _ROFF_ESCAPE.sub("", "".join(lines))


def _manual_line(line: str) -> str:
    """A line of a manual page as text: a request for a paragraph is a blank line, a font's name goes."""
    if not line.startswith("."):
        return line
    request, _, rest = line.partition(" ")
    if request.strip() in {".PP", ".P", ".LP", ".TP", ".IP", ".SH", ".SS"}:
        return "\n" + rest.replace('"', "")
    return rest.replace('"', "")
