"""A provider's reply, in any wrapping -> its own words, codes, named numbers and places.

Replies arrive as bytes, text, mappings, JSON within JSON, Python's ``repr`` of a mapping, the text
of an SDK's exception, an exception itself, or a proxy's HTML page. :func:`read_reply` unwraps them
all, once, in linear time, and never raises. What the reply quotes of the request (FastAPI's
``input`` field, for one) is kept apart, so that no text of the caller's is read as an error or shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from unabridged.providers.fault_syntax import parse_loose

__all__ = ["Reading", "read_reply"]

# Bounds that keep the work linear on hostile replies: what a person could write in an error fits easily.
_LONGEST_BODY = 4_000_000
_LONGEST_STATEMENT = 12_000
_MOST_STATEMENTS = 40
_DEEPEST = 24  # JSON in JSON in JSON takes three levels for each wrapping
_MOST_NODES = 2_000
_LONGEST_PAGE = 8_000

_ECHO = frozenset(
    (
        "input",
        "inputs",
        "body",
        "text",
        "texts",
        "content",
        "contents",
        "documents",
        "document",
        "instances",
        "prompt",
        "prompts",
        "request",
        "requests",
        "messages",
        "sentences",
        "input_value",
        "value",
        "query",
        "queries",
        "embedding",
        "embeddings",
        "vector",
        "vectors",
        "inputtext",
    )
)
_IGNORED = frozenset(
    (
        "id",
        "request_id",
        "requestid",
        "req_id",
        "trace",
        "traceid",
        "trace_id",
        "stack",
        "stacktrace",
        "traceback",
        "url",
        "uri",
        "href",
        "more_info",
        "links",
        "help",
        "user_id",
        "object",
        "documentation_url",
        "provider_name",
        "signin_url",
        "timestamp",
        "created",
        "model",
        "host",
        "x-request-id",
        "@type",
        "version",
    )
)
_CODE = frozenset(
    (
        "code",
        "type",
        "error_type",
        "errortype",
        "status",
        "error_code",
        "errorcode",
        "errcode",
        "__type",
        "err_code",
        "kind",
        "quotaid",
        "quotametric",
        "reason",
        "statustext",
    )
)
_STATUS = frozenset(("status", "status_code", "statuscode", "code", "http_status", "http_code", "raw_status_code"))
_PLACE = frozenset(
    ("loc", "path", "param", "pointer", "instancepath", "datapath", "propertypath", "field", "location", "target")
)
_COMPLAINTS = frozenset(
    ("error", "errors", "detail", "details", "violations", "messages", "field_errors", "fielderrors")
)
_MESSAGE = frozenset(("message", "msg", "error", "detail", "type", "code", "loc", "reason", "description"))
_INDEX = frozenset(
    (
        "index",
        "indices",
        "indexes",
        "idx",
        "input_index",
        "item_index",
        "failed_indices",
        "invalid_indices",
        "position",
        "positions",
    )
)
_PAGE = re.compile(r"<(?:!doctype|html|head|title|body|h1|center|\?xml|error)\b", re.IGNORECASE)
_INVISIBLE = re.compile(r"<(script|style)\b[^<]*(?:<(?!/\1)[^<]*)*</\1\s*>", re.IGNORECASE)
# Frames of a traceback hold paths, line numbers and source, and say nothing of what went wrong.
_FRAMES = re.compile(
    r'^ +File "[^"\n]*", line \d+[^\n]*\n(?: {3,}[^\n]*\n)*'
    r"|^Traceback \(most recent[^\n]*\n|^\s+at [^\n]{0,400}:\d+[^\n]*$",
    re.MULTILINE,
)
_PAIR = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,40})\s?=\s?(\d{1,12})(?![\w.])")
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")  # a no-break space stays: it groups digits
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>")
_STARTS = re.compile(r"""\{(?=\s*["'}]|\s*[A-Za-z_]\w*["']?\s*:)|\[(?=\s*\{)""")
_STATED_STATUS = re.compile(
    r"(?:error code|status code|status|http(?:/\d\.\d)?|error|code)\W{1,4}([1-5]\d\d)\b"
    r"|^\s*\W{0,2}([45]\d\d)\b|error occurred \(([45]\d\d)\)"
    r"|\b([45]\d\d) (?:client error|server error|bad request|too many requests)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Reading:
    """What a reply says: its sentences, one-word codes, named numbers, places in the request.

    ``echoes`` is what it quotes of the request, never to be shown. ``empty`` is true for a reply
    that has a ``data`` or ``embeddings`` list with nothing in it.
    """

    statements: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    waits: dict[str, str] = field(default_factory=dict)
    places: list[tuple[str | int, ...]] = field(default_factory=list)
    echoes: list[str] = field(default_factory=list)
    status: int | None = None
    empty: bool = False
    structured: bool = False
    page: bool = False
    exception: str = ""
    nodes: int = 0

    def note_status(self, value: object) -> None:
        """Keep the first HTTP status that the reply itself states."""
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if self.status is None and type(value) is int and 100 <= value <= 599:
            self.status = value

    def say(self, text: str) -> None:
        """Keep one sentence of the reply, unless it is blank or said already."""
        text = _clip(_BLANKS.sub(" ", text).strip())
        if not any(letter.isalnum() for letter in text) or len(self.statements) >= _MOST_STATEMENTS:
            return
        if text not in self.statements:
            self.statements.append(text)


def read_reply(body: object) -> Reading:
    """Unwrap a reply of any form into a :class:`Reading`.

    >>> read_reply("Error code: 400 - {'error': {'message': 'Prompt too long', 'code': '1261'}}").statements
    ['Error code: 400 -', 'Prompt too long']
    """
    reading = Reading()
    try:
        _read(body, reading)
    except Exception:  # noqa: BLE001
        reading.say("unreadable reply")
    return reading


def _read(body: object, reading: Reading) -> None:
    if isinstance(body, BaseException):
        _read_exception(body, reading)
    elif isinstance(body, bytes | bytearray | memoryview):
        _read_text(_decode(bytes(body[:_LONGEST_BODY])), reading, 0)
    elif isinstance(body, str):
        _read_text(body[:_LONGEST_BODY], reading, 0)
    elif isinstance(body, Mapping | list | tuple):
        reading.structured = True
        _walk("", body, reading, 0)
    elif body is not None:
        _read_object(body, reading)


def _decode(raw: bytes) -> str:
    """UTF-8, else GB 18030 (what Chinese gateways send), else whatever can be saved."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def _read_exception(error: BaseException, reading: Reading) -> None:
    """An SDK's exception: its class, its status, its reply, and its words."""
    reading.exception = " ".join(kind.__name__ for kind in type(error).__mro__[:-3])
    _read_object(error, reading)
    _read_text(str(error), reading, 0)
    if error.__cause__ is not None and not reading.statements:
        _read_text(f"{type(error.__cause__).__name__}: {error.__cause__}", reading, 0)


def _read_object(thing: object, reading: Reading) -> None:
    """Any object with the usual attributes: ``status_code``, ``body``, ``response`` and so on."""
    for name in ("status_code", "status", "code", "http_status"):
        reading.note_status(getattr(thing, name, None))
    for name in ("body", "response", "message", "detail", "details", "text"):
        value = getattr(thing, name, None)
        value = value() if name in ("details", "message") and callable(value) else value
        if isinstance(value, Mapping | list | tuple):
            _walk(name, value, reading, 1, quoted=False)
        elif isinstance(value, bytes | str):
            _read_text(_decode(value) if isinstance(value, bytes) else value, reading, 0)
        elif name == "response" and value is not None:
            _read_object(value, reading)


def _read_text(text: str, reading: Reading, depth: int) -> None:
    if depth == 0 and _read_json(text, reading):
        return
    if _PAGE.search(text[:2_000]):
        text = _strip_tags(text)
        reading.page = True
    for piece in _pieces(text):
        if isinstance(piece, str):
            _find_status(piece, reading)
            _find_pairs(piece, reading)
            reading.say(piece)
        else:
            reading.structured = True
            _walk("", piece, reading, depth + 1)


def _read_json(text: str, reading: Reading) -> bool:
    """Strict JSON first: C code reads a megabyte in ten milliseconds."""
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "[", '"'):
        return False
    try:
        value = json.loads(text.strip("\ufeff \t\r\n"))
    except (ValueError, RecursionError):
        return False
    if isinstance(value, str):
        _read_text(value, reading, 1)
    else:
        reading.structured = True
        _walk("", value, reading, 0)
    return True


def _strip_tags(text: str) -> str:
    text = _INVISIBLE.sub(" ", text[:_LONGEST_PAGE])
    return _TAG.sub(" ", text)


def _find_status(text: str, reading: Reading) -> None:
    found = _STATED_STATUS.search(text[:400])
    if found:
        reading.note_status(next(group for group in found.groups() if group))


def _find_pairs(text: str, reading: Reading) -> None:
    """Figures with a name: "n_ctx=512 prompt=530"."""
    for found in _PAIR.finditer(text[:2_000]):
        reading.numbers.setdefault(found[1].casefold(), float(found[2]))


def _pieces(text: str) -> Iterator[Any]:
    """Plain text and, between it, the mappings and lists that are written into it."""
    text = _FRAMES.sub("", _clip(text, 4 * _LONGEST_STATEMENT))
    at = 0
    for _ in range(8):  # more structures than that in one message say nothing new
        start = _STARTS.search(text, at)
        if start is None:
            break
        value, end = parse_loose(text, start.start())
        if start.start() > at:
            yield text[at : start.start()]
        yield value
        at = end
    yield text[at:]


def _walk(key: str, value: object, reading: Reading, depth: int, *, quoted: bool = False) -> None:
    reading.nodes += 1
    if depth > _DEEPEST or reading.nodes > _MOST_NODES:
        return
    name = key.casefold()
    quoted = quoted or (name in _ECHO and depth > 0 and not (name == "body" and isinstance(value, Mapping)))
    if isinstance(value, Mapping):
        _walk_mapping(name, value, reading, depth, quoted=quoted)
    elif name in _PLACE and isinstance(value, list | tuple):
        reading.places.append(tuple(part for part in value if isinstance(part, str | int))[:12])
    elif isinstance(value, list | tuple):
        reading.empty = reading.empty or (name in ("data", "embeddings", "embedding", "vectors") and not value)
        for item in value[:64]:
            _walk(key, item, reading, depth + 1, quoted=quoted)
    else:
        _leaf(name, value, reading, depth, quoted=quoted)


def _walk_mapping(name: str, value: Mapping[Any, Any], reading: Reading, depth: int, *, quoted: bool) -> None:
    # Messages first, details after: the first number of a kind is the one that counts.
    items = [(str(key), item) for key, item in list(value.items())[:256]]
    by_field = name in _COMPLAINTS and not _MESSAGE & {key.casefold() for key, _ in items}
    for key, item in sorted(items, key=lambda pair: isinstance(pair[1], Mapping | list | tuple)):
        if by_field and key.casefold() in _ECHO:  # {"errors": {"input": ["The input may not …"]}}
            reading.places.append((key,))
            _walk(name, item, reading, depth + 1, quoted=quoted)
        else:
            _walk(key, item, reading, depth + 1, quoted=quoted)


def _leaf(name: str, value: object, reading: Reading, depth: int, *, quoted: bool) -> None:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        if name in _STATUS:
            reading.note_status(value)
        if name in _INDEX and depth > 0 and type(value) is int:
            reading.places.append((value,))
        elif name and value == value and abs(value) < 1e15:  # noqa: PLR0124
            reading.numbers.setdefault(name, float(value))
    elif isinstance(value, str) and name not in _IGNORED:
        _string(name, value, reading, depth, quoted=quoted)


def _string(name: str, value: str, reading: Reading, depth: int, *, quoted: bool) -> None:
    if "retry" in name or "reset" in name:
        reading.waits[name] = value[:80]
    if quoted:
        reading.echoes.append(_clip(value))
    elif name in _PLACE:
        reading.places.append((value[:200],))
    elif name in _CODE and " " not in value.strip():
        if name in _STATUS:
            reading.note_status(value.strip())
        reading.codes.append(value[:200])
    else:
        _read_text(value, reading, min(depth, _DEEPEST - 2) + 1)


def _clip(text: str, most: int = _LONGEST_STATEMENT) -> str:
    """Head and tail: a message may open a long reply or close it (a traceback)."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"
