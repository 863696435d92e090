"""Ignore rules as git has them: patterns of a ``.gitignore``, of the folder it stands in and below."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["IgnoreFiles", "Rules"]

_FILES = (".gitignore", ".ignore", ".unabridgedignore")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    keeps: bool
    folders: bool


class Rules:
    """Patterns in order; the last that fits decides.

    >>> rules = Rules(["*.log", "!keep.log", "/build/", "docs/**/draft?.md"])
    >>> paths = ("a/b.log", "a/keep.log", "build/x", "src/build/x", "docs/a/b/draft1.md")
    >>> [bool(rules.ignores(path)) for path in paths]
    [True, False, True, False, True]
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._rules = [rule for line in patterns if (rule := _rule(line)) is not None]

    def ignores(self, path: str) -> bool | None:
        """Whether a file is left out, by its path below the folder of the rules; ``None`` says nothing."""
        parts = path.split("/")
        said: bool | None = None
        for upto in range(1, len(parts) + 1):
            told = self._told("/".join(parts[:upto]), folder=upto < len(parts))
            if told is True and upto < len(parts):
                return True  # what is in a folder that is left out cannot be taken back
            said = told if told is not None else said
        return said

    def _told(self, path: str, *, folder: bool) -> bool | None:
        said = None
        for rule in self._rules:
            if (folder or not rule.folders) and rule.pattern.fullmatch(path):
                said = not rule.keeps
        return said


@dataclass(slots=True)
class IgnoreFiles:
    """The ignore files of a tree, and rules of the user's for all of it."""

    root: Path
    own: Rules
    _known: dict[Path, Rules] = field(default_factory=dict)

    def ignores(self, path: Path) -> bool:
        """Whether a file below the root is left out; a file nearer to it decides over one further up."""
        inner = path.relative_to(self.root)
        if self.own.ignores(inner.as_posix()):
            return True
        said = False
        for depth in range(len(inner.parts)):
            folder = self.root.joinpath(*inner.parts[:depth])
            told = self._of(folder).ignores("/".join(inner.parts[depth:]))
            said = told if told is not None else said
        return said

    def _of(self, folder: Path) -> Rules:
        if folder not in self._known:
            lines: list[str] = []
            for name in _FILES:
                try:
                    lines += (folder / name).read_text("utf-8", "replace").splitlines()
                except OSError:
                    continue
            self._known[folder] = Rules(lines)
        return self._known[folder]


def _rule(line: str) -> _Rule | None:
    text = line.rstrip()
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    text = text[1:] if keeps else text
    folders = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    body = _regex(text.removeprefix("/"))
    return _Rule(re.compile(body if anchored else f"(?:.*/)?{body}", re.DOTALL), keeps, folders)


def _regex(pattern: str) -> str:
    made, at = [], 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            made.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            made.append(".*")
            at += 2
        elif rest[0] == "*":
            made.append("[^/]*")
            at += 1
        elif rest[0] == "?":
            made.append("[^/]")
            at += 1
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            made.append(f"[{'^' + rest[2:end] if rest[1] in '!^' else rest[1:end]}]")
            at += end + 1
        else:
            escaped = rest[0] == "\\" and len(rest) > 1
            made.append(re.escape(rest[1] if escaped else rest[0]))
            at += 2 if escaped else 1
    return "".join(made)
