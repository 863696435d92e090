"""What a provider's refusal means: :func:`classify` reads it, :func:`error_for` turns it into an error.

A reply is unwrapped (:mod:`.fault_text`), put into one form (:mod:`.fault_words`), matched against
what providers say in a dozen languages (:mod:`.fault_kinds`), and its numbers are bound to what they
are (:mod:`.fault_numbers`). The rules are about meaning: no status and no code decides alone, for
413 and 500 are said both of an input and of a server, and one code means two things at two providers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unabridged.providers import fault_words as words
from unabridged.providers.fault_kinds import CEILING, Seen, kind_of
from unabridged.providers.fault_message import error_for
from unabridged.providers.fault_numbers import Measured, Number, find_numbers, measure, prepare
from unabridged.providers.fault_places import find_indices, mask_indices, named_fields
from unabridged.providers.fault_text import Reading, read_reply
from unabridged.providers.fault_wait import header_table, stated_wait, waited_by_headers
from unabridged.types import Fault

if TYPE_CHECKING:
    from unabridged.types import FaultKind, Scope, Unit

__all__ = ["classify", "error_for"]

_LONGEST_TEXT = 16_000
# Vertex counts a whole request against this many tokens; a larger figure is a model's context (its API limits page).
_VERTEX_REQUEST_TOKENS = 20_000
_LIMIT_FIELDS = (
    "n_ctx", "max_length", "maxlength", "limit_value", "maximum", "context_length", "max_input_tokens", "max_items", "maxitems",
    "max_batch_size", "token_limit", "max_tokens_allowed", "limit", "max_input_length", "allowed", "max_allowed", "max", "max_tokens", "max_batch_tokens",
)  # fmt: skip
_ACTUAL_FIELDS = (
    "n_prompt_tokens", "actual_length", "actual", "token_count", "input_tokens", "prompt_tokens", "num_tokens", "requested",
    "received", "tokens", "length", "count", "given", "provided", "total_tokens",
)  # fmt: skip
_STRINGY = re.compile(r"\bstring\b|maxlength|characters?|\bchars?\b|字符|字元|文字数|글자|zeichen|caracteres|символ")
_TOKENS = re.compile(r"token|トークン|토큰|令牌|词元|токен|jeton|context|上下文")
_BYTES = re.compile(r"\bbytes?\b|payload|\bbody\b|entity|content too large|request (?:is )?too (?:large|long)|length limit|message larger|请求体|本文|본문")
_STRICT = re.compile(r"strictly (?:less|smaller|fewer)|\(exclusive\)|echt kleiner|strictement inferieur|estrictamente menor")


def classify(
    status: int | None, body: object, headers: object = None, *, provider: str | None = None
) -> Fault:
    """Say what a reply means: its kind, its scope, its numbers, the inputs it names, the wait it asks for.

    ``body`` may be bytes, text, a mapping, JSON in JSON, a Python ``repr``, an SDK's exception or its
    text, or a proxy's HTML. ``limit``, ``actual`` and ``excess`` come in ``unit``; ``indices`` count
    from 0; ``retry_after`` is in seconds. Linear in the body; never raises. ``provider`` is a hint.

    >>> fault = classify(413, '{"error":"`inputs` must have less than 512 tokens. Given: 514"}')
    >>> fault.kind, fault.scope, fault.limit, fault.actual, fault.unit
    ('input_overflow', 'input', 512, 514, 'tokens')
    >>> classify(429, "Rate limit reached. Please try again in 176ms.").retry_after
    0.176
    """
    seen = _look(_status(status), read_reply(body))
    kind, confidence = kind_of(seen)
    codes = {seen.reading.numbers.get(name) for name in ("code", "status_code", "error_code", "errcode", "status")}
    numbers = [n for n in find_numbers(prepare(mask_indices(seen.text)), status=seen.status) if n.value not in codes]
    wait = _wait(seen, header_table(headers), kind)
    if kind in ("rate_limit", "quota"):
        return _rate_fault(seen, kind, confidence, numbers, wait)
    if kind in ("input_overflow", "request_overflow"):
        return _overflow_fault(seen, confidence, numbers, wait)
    if kind == "output_budget":
        return _budget_fault(seen, confidence, numbers, wait)
    indices = find_indices(seen.text, seen.reading.places) if kind in _PLACED else ()
    scope: Scope = "input" if kind == "bad_values" else "request"
    return Fault(kind, scope, indices=indices, retry_after=wait, confidence=confidence, status=seen.status)


_PLACED = frozenset(("empty_input", "wrong_shape", "bad_values", "bad_request", "bad_reply"))


def _status(status: object) -> int | None:
    if isinstance(status, str) and status.strip()[:3].isdigit():
        status = int(status.strip()[:3])
    return status if type(status) is int and 100 <= status <= 599 else None


def _look(status: int | None, reading: Reading) -> Seen:
    said = reading.statements or reading.echoes
    text = words.normal(". ".join(said)[:_LONGEST_TEXT])[:_LONGEST_TEXT]
    codes = " | ".join(words.spell_out(code) for code in reading.codes[:32])
    stated = reading.status
    sent_ok = status is not None and status < 300
    effective = stated if status is None or sent_ok else status
    return Seen(
        reading,
        text,
        codes,
        effective if effective is None or effective >= 300 else None,
        frozenset(named_fields(text, reading.places)),
        sent_ok,
    )


def _wait(seen: Seen, headers: dict[str, str], kind: FaultKind) -> float | None:
    limited = kind in ("rate_limit", "quota", "overloaded")
    by_headers = waited_by_headers(headers, limited=limited)
    if by_headers is not None:
        return by_headers
    return stated_wait(seen.text, seen.reading.numbers, seen.reading.waits)


def _rate_fault(
    seen: Seen, kind: FaultKind, confidence: float, numbers: list[Number], wait: float | None
) -> Fault:
    """Limit and requested are per minute; a single request over the whole limit can never pass."""
    if kind == "quota":
        return Fault(kind, retry_after=wait, confidence=confidence, status=seen.status)
    per_minute = [n for n in numbers if n.unit == "tokens/min"] or [n for n in numbers if n.unit == "requests/min"]
    pool = numbers if _ASKED.search(seen.text) else per_minute or numbers
    asked = [n for n in pool if not _is_used(seen.text, n)]
    measured = measure(asked, ordered=False, least=2.0)
    unit = _rate_unit(seen, measured)
    limit, actual = measured.limit, measured.actual
    if limit is None and len(per_minute) == 1:
        limit, actual = per_minute[0].value, None
    asks_more = limit is not None and actual is not None and actual > limit and "current" not in seen.text
    if asks_more or ("request too large" in seen.text and unit == "tokens/min"):
        kind = "rate_limit_impossible"
    return Fault(
        kind, "request", limit, actual, None, unit if limit is not None else None,
        retry_after=wait, confidence=confidence, status=seen.status,
    )  # fmt: skip


_ASKED = re.compile(r"requested|current:|current is")


def _is_used(text: str, number: Number) -> bool:
    return bool(re.search(r"\bused:? $", text[max(0, number.start - 8) : number.start]))


def _rate_unit(seen: Seen, measured: Measured) -> Unit | None:
    both = f"{seen.text} {seen.codes}"
    if measured.unit in ("tokens/min", "requests/min"):
        return measured.unit
    if "enqueued" in both:
        return "tokens"
    if re.search(r"\btpm\b|tokens? ?(?:per|/|a) ?min|token rate limit|tokensperminute|input tokens per", both):
        return "tokens/min"
    if re.search(r"\brpm\b|(?:requests?|calls?) ?(?:per|/|a) ?min|requests? ?per ?minute|perminute", both):
        return "requests/min"
    if measured.unit in ("tokens", "tokens/min"):
        return "tokens/min"
    # "Limit 1000000, Requested 20872" without a unit: no server takes a million requests a minute from one key.
    return "tokens/min" if measured.limit and (measured.actual or 0) > 100 else None


def _overflow_fault(
    seen: Seen, confidence: float, numbers: list[Number], wait: float | None
) -> Fault:
    measured = _with_fields(seen, measure(_of_one_kind(seen, numbers)))
    if words.LENGTH_SHAPES.search(seen.text):
        measured = _by_shape(seen.text) or measured
    limit = measured.limit
    if limit is not None and _STRICT.search(seen.text) and "(exclusive)" not in seen.text:
        limit -= 1
    places = find_indices(seen.text, seen.reading.places, limit=limit)
    kind, scope, unit = _which_overflow(seen, measured, places)
    if "decoding" in seen.text and unit == "tokens" and not re.search(r"input|prompt", seen.text):
        unit, confidence = None, 0.5  # a generation that ran over: it only looks like an input that is too long
    elif measured.limit is not None and measured.actual is not None:
        confidence = min(0.99, confidence + 0.07)
    return Fault(
        kind, scope, limit, measured.actual, measured.excess, unit, places,
        retry_after=wait, confidence=confidence, status=seen.status,
    )  # fmt: skip


def _of_one_kind(seen: Seen, numbers: list[Number]) -> list[Number]:
    """Leave out numbers of inputs where others are of tokens, and places where the reply names them."""
    sized = [n for n in numbers if n.unit in ("tokens", "chars", "bytes")]
    if sized and len({n.unit for n in sized}) == 1 and not words.COUNTED.search(seen.text):
        numbers = [n for n in numbers if n.unit in ("", sized[0].unit)]
    places = find_indices(seen.text, seen.reading.places)
    return [n for n in numbers if not (n.value in places and n.unit == "" and len(numbers) > 1 and n.as_limit < 2)] or numbers


_SHAPES = re.compile(
    r"index-select invalid index \d+ with dim size (?P<only>\d+)|is not in \[0, ?(?P<end>\d+)"
    r"|tensor (?:a )?\((?P<a>\d+)\).{0,60}?(?:tensor b|existing size) \((?P<b>\d+)\)|other than 1\. (?P<c>\d+) by (?P<d>\d+)"
)


def _by_shape(text: str) -> Measured | None:
    """Frameworks that have no word for it: two sizes that should be equal, the smaller one the model's."""
    found = _SHAPES.search(text)
    sizes = sorted(int(size[:12]) for size in found.groups() if size) if found else []
    if not sizes:
        return None
    return Measured(sizes[0], sizes[1] if len(sizes) == 2 else None, None, "tokens")


def _with_fields(seen: Seen, measured: Measured) -> Measured:
    """Named numbers of the reply (``n_ctx``, ``actual_length`` …) fill what its words leave open."""
    fields = seen.reading.numbers
    limit, actual = measured.limit, measured.actual
    if limit is None:
        limit = next((int(fields[name]) for name in _LIMIT_FIELDS if fields.get(name, 0) >= 1), None)
    if actual is None and limit is not None:
        actual = next((int(fields[name]) for name in _ACTUAL_FIELDS if fields.get(name, 0) > limit), None)
    return Measured(limit, actual, measured.excess, measured.unit)


def _which_overflow(seen: Seen, measured: Measured, places: tuple[int, ...]) -> tuple[FaultKind, Scope, Unit | None]:
    text = f"{seen.text} {seen.codes}"
    context = words.CONTEXT.search(text)
    if measured.unit == "inputs" or (measured.unit == "" and words.COUNTED.search(text) and not context):
        return "batch_count", "request", "inputs"
    unit: Unit = measured.unit if measured.unit in ("tokens", "chars", "bytes") else _default_unit(seen, text)  # type: ignore[assignment]
    if not places and _whole_request(seen, text, measured):
        return "request_overflow", "request", unit
    return "input_overflow", "input", unit


def _default_unit(seen: Seen, text: str) -> Unit:
    if _TOKENS.search(text):
        return "tokens"
    if _STRINGY.search(text):
        return "chars"
    return "bytes" if _BYTES.search(text) or (seen.status == 413 and seen.overflow < 0.7) else "tokens"


_BATCH_OF_TOKENS = re.compile(r"per request|(?:tokens?|length) (?:in|per) (?:\w+ ){0,2}batch|total (?:number|token|input|length|size of)|batch (?:has|of)|总|合计|合計")


def _whole_request(seen: Seen, text: str, measured: Measured) -> bool:
    if words.ONE_INPUT.search(text):
        return False
    if "unable to submit request because the input token count" in text:
        return (measured.limit or 0) <= _VERTEX_REQUEST_TOKENS
    if words.CONTEXT.search(text) and not _BATCH_OF_TOKENS.search(text):
        return False
    return bool(words.WHOLE_REQUEST.search(text)) or (seen.status == 413 and seen.overflow < 0.7)


def _budget_fault(seen: Seen, confidence: float, numbers: list[Number], wait: float | None) -> Fault:
    measured = measure([n for n in numbers if n.unit in ("", "tokens")])
    if "+" in seen.text and (ceiling := re.search(r"(?:<=|>) (\d[\d,.]{0,24})", seen.text) or CEILING.search(seen.text)):
        measured = Measured(int(re.sub(r"\D", "", ceiling[1])[:15]))
    return Fault(
        "output_budget", "request", measured.limit, measured.actual, None, "tokens",
        retry_after=wait, confidence=confidence, status=seen.status,
    )  # fmt: skip
