"""JSON with comments and trailing commas, read without losing a position.

Comments and trailing commas are blanked out, character by character, and the rest goes through
:mod:`json`: strings, numbers and errors are the standard library's, and every offset stays true.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Document", "Path", "parse", "spell"]

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<open_comment>/\*)
      | (?P<mark>[][{}:,])
      | (?P<word>[^\s"/:,\]\[{}]+|["/])""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN_KEY = re.compile(r"[\w$-]+")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its name, its value, and on which line each key stands."""

    name: str
    value: Any
    lines: dict[Path, int]

    def place(self, path: Path) -> str:
        """Where ``path`` stands, for the end of a message: the nearest key that is in the file."""
        known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.lines), None)
        return self.name if known is None else f"{self.name}, line {self.lines[known]}"


def parse(text: str, name: str) -> Document:
    """Read ``text``; ``name`` is the file's, for messages.

    Raises :class:`~unabridged.errors.ConfigError` with line and column for anything that is not JSON
    (comments and trailing commas apart), and for a key that stands twice in one object.

    >>> parse('{"a": [1, 2,], /* why */ "b": "// no comment"} // end', "x.json").value
    {'a': [1, 2], 'b': '// no comment'}
    """
    plain = _without_extras(text, name)
    try:
        value = json.loads(plain, parse_constant=lambda word: _refuse_constant(word, name))
    except json.JSONDecodeError as error:
        _refuse(name, plain, error.pos, _in_words(error, plain))
    except RecursionError:
        raise ConfigError(name, "nested too deeply to be a configuration") from None
    return Document(name, value, _key_lines(plain, name))


def spell(path: Path) -> str:
    """A path as people write it.

    >>> spell(("embedding", "fallbacks", 0, "apiKey")), spell(("extensions", "io.github.x"))
    ('embedding.fallbacks[0].apiKey', 'extensions["io.github.x"]')
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def _without_extras(text: str, name: str) -> str:
    """Comments and trailing commas turned into blanks of the same length."""
    blanks: list[tuple[int, int]] = []
    before, last, last_at = "", "", 0  # the two tokens before this one, comments apart
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "open_comment":
            _refuse(name, text, token.start(), "a comment that never ends")
        if token.lastgroup == "comment":
            blanks.append(token.span())
            continue
        if token[0] in ("]", "}") and last == "," and before not in ("", "[", "{", ","):
            blanks.append((last_at, last_at + 1))
        before, last, last_at = last, token[0], token.start()
    return _blanked(text, sorted(blanks))


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], re.sub(r"[^\n]", " ", text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def _key_lines(plain: str, name: str) -> dict[Path, int]:
    """The line of every key and list item of a valid JSON text."""
    lines: dict[Path, int] = {}
    line, at = 1, 0
    for path, offset in _keys(plain):
        line, at = line + plain.count("\n", at, offset), offset
        if path in lines:
            raise ConfigError(spell(path), f"stands twice, the second time here; keep one ({name}, line {line})")
        lines[path] = line
    return lines


def _keys(plain: str) -> Iterator[tuple[Path, int]]:
    """Every path with its offset, in the order of the text."""
    path: list[str | int] = []
    key_is_next = False
    for token in _TOKEN.finditer(plain):
        word = token[0]
        if word == "{":
            path.append("")
            key_is_next = True
        elif word == "[":
            path.append(0)
            yield tuple(path), token.end()
        elif word in "}]":
            path.pop()
            key_is_next = False
        elif word == ",":
            last = path[-1]
            key_is_next = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
                yield tuple(path), token.end()
        elif key_is_next:
            path[-1] = json.loads(word)
            key_is_next = False
            yield tuple(path), token.start()


def _in_words(error: json.JSONDecodeError, text: str) -> str:
    if not text.strip():
        return "the file is empty; {} is the shortest configuration"
    if error.pos == 0:
        return "not JSON: a configuration begins with a brace"
    if error.msg == "Extra data":
        return "more text after the end of the object"
    if error.pos >= len(text.rstrip()):
        return "the text ends too early: a bracket or a quote is not closed"
    if text.startswith("${", error.pos):
        return 'a variable stands in quotation marks, numbers too: "${NAME}"'
    return error.msg[0].lower() + error.msg[1:]


def _refuse(name: str, text: str, at: int, problem: str) -> NoReturn:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise ConfigError(f"{name}:{line}:{column}", problem) from None  # json's own error carries the text


def _refuse_constant(word: str, name: str) -> NoReturn:
    raise ConfigError(name, f"{word} is not a JSON number")
