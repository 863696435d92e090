"""What a provider's refusal means: :func:`classify` reads it, :func:`error_for` turns it into an error.

A reply is unwrapped (:mod:`.fault_text`), put into one form and matched against what providers say in a
dozen languages (:mod:`.fault_words`, :mod:`.fault_kinds`), and its numbers are bound to what they are
(:mod:`.fault_numbers`, :mod:`.fault_measure`). The rules are about meaning: no status and no code decides
alone, for 413 and 500 are said both of an input and of a server, and one code means two things at two
providers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from unabridged.providers.fault_kinds import CEILING, kind_of
from unabridged.providers.fault_learned import second_thought
from unabridged.providers.fault_measure import Measured, by_shape, choose, numbers_in, with_fields
from unabridged.providers.fault_message import error_for
from unabridged.providers.fault_numerals import in_digits
from unabridged.providers.fault_places import find_indices, named_fields
from unabridged.providers.fault_seen import Seen
from unabridged.providers.fault_text import read_reply
from unabridged.providers.fault_wait import header_table, stated_wait, waited_by_headers
from unabridged.providers.fault_words import normal, spell_out
from unabridged.types import OVERFLOWS, Fault

if TYPE_CHECKING:
    from unabridged.providers.fault_numbers import Number, NumberUnit
    from unabridged.types import FaultKind, Scope, Unit

__all__ = ["by_rules", "classify", "error_for", "look"]

_LONGEST_TEXT = 16_000
# Vertex counts a whole request against this many tokens (its API limits page); more is a model's context.
_VERTEX_REQUEST_TOKENS = 20_000
_PLACED = frozenset(("empty_input", "wrong_shape", "bad_values", "bad_request", "bad_reply"))
_MORE_THAN_COUNTED = frozenset(("tok", "char", "byte", "context", "total", "size", "text"))
_CODE_FIELDS = ("code", "status_code", "error_code", "errcode", "status")
_STRINGS = re.compile(r"\bstring\b|maxlength|characters?|\bchars?\b|字符|字元|文字数|글자|zeichen|caracteres|символ")
_TOKENS = re.compile(r"token|トークン|토큰|令牌|词元|токен|jeton|context|上下文")
_BYTES = re.compile(
    r"\bbytes?\b|payload|\bbody\b|entity|content too large"
    r"|request size|request (?:is )?too (?:large|long)|length limit"
    r"|message (?:larger|exceeds|size|too)|请求体|本文|본문|ボディ|cuerpo|corps|corpo\b|тело|korper|nutzlast"
    r"|carga util|charge utile"
)
_STRICTLY = re.compile(r"strictly (?:less|smaller|fewer)|echt kleiner|strictement inferieur|estrictamente menor")
_ASKED = re.compile(r"requested|current:|current is")
_REQUESTS = re.compile(r"\brequests?\b|\bcalls?\b")
_SUM = re.compile(r"(?:<=|>) (\d[\d,.]{0,24})")
_PER_MINUTE_UNITS: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    ("tokens", re.compile("enqueued")),
    (
        "tokens/min",
        re.compile(r"\btpm\b|tokens? ?(?:per|/|a) ?min|token rate limit|tokensperminute|input tokens per"),
    ),
    (
        "requests/min",
        re.compile(r"\brpm\b|(?:requests?|calls?) ?(?:per|/|a) ?min|requests? ?per ?minute|perminute"),
    ),
)
_OF_A_BATCH = re.compile(
    r"per request|(?:tokens?|length) (?:in|per) (?:\w+ ){0,2}batch|total (?:number|token|input|length)"
    r"|total size of|batch (?:has|of)|总|合计|合計"
)


def classify(status: int | None, body: object, headers: object = None, *, provider: str | None = None) -> Fault:
    """Say what a reply means: its kind, its scope, its numbers, the inputs it names, the wait it asks for.

    ``body`` may be bytes, text, a mapping, JSON in JSON, a Python ``repr``, an SDK's exception or its
    text, or a proxy's HTML. ``limit``, ``actual`` and ``excess`` come in ``unit``; ``indices`` count
    from 0; ``retry_after`` is in seconds. Linear in the body; never raises. ``provider`` is a hint that
    no rule needs so far.

    >>> fault = classify(413, '{"error":"`inputs` must have less than 512 tokens. Given: 514"}')
    >>> fault.kind, fault.scope, fault.limit, fault.actual, fault.unit
    ('input_overflow', 'input', 512, 514, 'tokens')
    >>> classify(429, "Rate limit reached. Please try again in 176ms.").retry_after
    0.176
    """
    del provider
    seen, waits = look(status, body), header_table(headers)
    fault = by_rules(seen, waits)
    changed = second_thought(seen, fault.kind)
    return fault if changed is None else _told(seen, changed.kind, changed.likely, waits, settled=True)


def by_rules(seen: Seen, headers: dict[str, str]) -> Fault:
    """What the rules alone say of a reply."""
    return _told(seen, *kind_of(seen), headers)


def _told(seen: Seen, kind: FaultKind, confidence: float, headers: dict[str, str], *, settled: bool = False) -> Fault:
    """What a reply of a kind tells; ``settled`` where its numbers have no say in which kind it is."""
    wait = _wait(seen, headers, kind)
    plain = Fault(kind, retry_after=wait, confidence=confidence, status=seen.status)
    if kind in ("rate_limit", "rate_limit_impossible"):
        found = _rate(seen, plain)
        return replace(found, kind=kind) if settled else found
    if kind in OVERFLOWS:
        return _overflow(seen, plain, settled=kind if settled else None)
    if kind == "output_budget":
        return _budget(seen, plain)
    indices = find_indices(seen.text, seen.reading.places) if kind in _PLACED else ()
    return replace(plain, indices=indices, scope="input" if kind == "bad_values" else "request")


def _status(status: object) -> int | None:
    if isinstance(status, str) and re.fullmatch(r"\s*[1-5]\d\d\b.*", status[:40], re.ASCII | re.DOTALL):
        status = int(status.split()[0][:3])
    return status if type(status) is int and 100 <= status <= 599 else None


def look(status: object, body: object) -> Seen:
    """A reply as its readers see it. What it quotes of the request is read only if it says nothing else."""
    status, reading = _status(status), read_reply(body)
    said = ". ".join(reading.statements or reading.echoes)
    text = in_digits(normal(said[:_LONGEST_TEXT])[:_LONGEST_TEXT])
    codes = " | ".join(spell_out(code) for code in reading.codes[:32])
    sent_ok = status is not None and status < 300
    passed_on = status in (400, 500, 502) and reading.status in (401, 402, 403, 429)  # a proxy's, of another's
    in_force = reading.status if status is None or sent_ok or passed_on else status
    in_force = None if in_force is not None and in_force < 300 else in_force
    return Seen(reading, text, codes, in_force, frozenset(named_fields(text, reading.places)), sent_ok)


def _wait(seen: Seen, headers: dict[str, str], kind: FaultKind) -> float | None:
    wait = waited_by_headers(headers, limited=kind in ("rate_limit", "quota", "overloaded"))
    return stated_wait(seen.text, seen.reading.numbers, seen.reading.waits) if wait is None else wait


def _numbers(seen: Seen) -> list[Number]:
    codes = {seen.reading.numbers.get(name) for name in _CODE_FIELDS}
    return [n for n in numbers_in(seen.text, status=seen.status) if n.value not in codes]


def _rate(seen: Seen, fault: Fault) -> Fault:
    """Limit and requested are per minute; a single request over the whole limit can never pass."""
    numbers = [n for n in _numbers(seen) if not _is_used(seen.text, n)]
    per_minute = [n for n in numbers if n.unit == "tokens/min"] or [n for n in numbers if n.unit == "requests/min"]
    sizes = [n for n in numbers if n.unit == "tokens" or (n.unit == "" and n.as_actual > n.as_limit)]
    pool = numbers if _ASKED.search(seen.text) else per_minute or numbers
    measured = choose(pool, ordered=False, least=2.0)
    limit, actual = measured.limit, measured.actual
    if limit is None and len(per_minute) == 1:
        limit, actual = per_minute[0].value, None
    if actual is None and len(sizes) == 1 and sizes[0].value != limit and pool is per_minute:
        actual = sizes[0].value  # "this request needs 18,000 tokens"
    if limit is None:
        actual = None
    unit = _rate_unit(seen, per_minute[0].unit if per_minute else measured.unit, measured)
    never = limit is not None and actual is not None and actual > limit and "current" not in seen.text
    never = never and (unit == "tokens/min" or not _REQUESTS.search(seen.text))  # 61 requests of 60: next minute
    never = never or ("request too large" in seen.text and unit == "tokens/min")
    return replace(
        fault,
        kind="rate_limit_impossible" if never else "rate_limit",
        limit=limit,
        actual=actual,
        unit=None if limit is None else unit,
    )


def _is_used(text: str, number: Number) -> bool:
    around = text[max(0, number.start - 8) : number.start], text[number.end : number.end + 28]
    return bool(
        re.search(r"\bused:? $", around[0])
        or re.match(r"(?: tokens)? (?:(?:already |were )?used\b|in the (?:last|past))", around[1])
    )


def _rate_unit(seen: Seen, told: NumberUnit, measured: Measured) -> Unit | None:
    if told in ("tokens/min", "requests/min"):
        return told
    for unit, pattern in _PER_MINUTE_UNITS:
        if seen.says(pattern):
            return unit
    # "Limit 1000000, Requested 20872" without a unit: no key may send a million requests a minute.
    large = measured.limit is not None and (measured.actual or 0) > 100
    return "tokens/min" if large or measured.unit == "tokens" else None


def _overflow(seen: Seen, fault: Fault, *, settled: FaultKind | None = None) -> Fault:
    measured = with_fields(choose(_of_one_kind(seen, _numbers(seen))), seen.reading.numbers)
    if seen.writes("length shapes"):
        measured = by_shape(seen.text) or measured
    limit, confidence = measured.limit, fault.confidence
    if limit is not None and _STRICTLY.search(seen.text):
        limit -= 1
    indices = find_indices(seen.text, seen.reading.places, limit=limit)
    kind, scope, unit = _which_overflow(seen, measured, indices) if settled is None else _as(settled, seen, measured)
    if limit is not None and measured.actual is not None:
        confidence = min(0.99, confidence + 0.07)
    if "decoding" in seen.text and not re.search(r"input|prompt", seen.text):
        unit, confidence = (
            None,
            0.5,
        )  # a generation that ran over: it only looks like an input that is too long
    return replace(
        fault,
        kind=kind,
        scope=scope,
        limit=limit,
        actual=measured.actual,
        excess=measured.excess,
        unit=unit,
        indices=indices,
        confidence=confidence,
    )


def _of_one_kind(seen: Seen, numbers: list[Number]) -> list[Number]:
    """Leave out numbers of inputs where others are of tokens, and places where the reply names them."""
    if len(numbers) == 2 and {n.unit for n in numbers} == {"tokens", "inputs"} and "batch size" in seen.text:
        # llama.cpp's batch is of tokens: "Requested tokens (202) exceed batch size of 32".
        numbers = [replace(n, unit="tokens") for n in numbers]
    units = {n.unit for n in numbers if n.unit in ("tokens", "chars", "bytes")}
    if len(units) == 1 and not seen.writes("counted"):
        numbers = [n for n in numbers if n.unit in ("", *units)]
    places = find_indices(seen.text, seen.reading.places)
    sizes = [n for n in numbers if n.value not in places or n.unit or n.as_limit >= 2]
    return sizes or numbers


def _which_overflow(seen: Seen, measured: Measured, indices: tuple[int, ...]) -> tuple[FaultKind, Scope, Unit | None]:
    counted = measured.unit == "" and seen.means("counted") and not seen.means("context")
    told = seen.told_too_much
    batch = measured.unit == "" and measured.limit is not None and "batch" in told and not told & _MORE_THAN_COUNTED
    if measured.unit == "inputs" or counted or batch:
        return "batch_count", "request", "inputs"
    unit = _unit(seen, measured)
    if not indices and _is_whole_request(seen, measured):
        return "request_overflow", "request", unit
    return "input_overflow", "input", unit


def _as(kind: FaultKind, seen: Seen, measured: Measured) -> tuple[FaultKind, Scope, Unit | None]:
    if kind == "batch_count":
        return kind, "request", "inputs"
    return kind, "input" if kind == "input_overflow" else "request", _unit(seen, measured)


def _unit(seen: Seen, measured: Measured) -> Unit:
    if measured.unit in ("tokens", "chars", "bytes"):
        return measured.unit
    if seen.says(_TOKENS):
        return "tokens"
    if seen.says(_STRINGS):
        return "chars"
    told = seen.told_too_much
    weighed = "body" in told and "text" not in told and not told & {"context"}
    weighed = weighed or (
        seen.status == 413 and bool(told & {"request", "body"}) and not told & {"tok", "char", "context"}
    )
    return "bytes" if weighed or seen.says(_BYTES) or (seen.status == 413 and seen.overflow < 0.7) else "tokens"


def _of_the_request(seen: Seen) -> bool:
    """A batch, or a request without a unit, is too large; neither a text nor a model's window is named.

    A request of too many tokens is mostly one text: what a model refuses, not a server.
    """
    told = seen.told_too_much
    if told & {"text", "context", "each"}:
        return False
    return "batch" in told or ("request" in told and not told & {"tok", "char"})


def _is_whole_request(seen: Seen, measured: Measured) -> bool:
    if seen.means("one input"):
        return False
    if "unable to submit request because the input token count" in seen.text:
        return (measured.limit or 0) <= _VERTEX_REQUEST_TOKENS
    if seen.means("context") and not seen.says(_OF_A_BATCH):
        return False
    if measured.unit == "chars" and "field" in seen.text:  # a field of the payload, not the payload
        return False
    return (
        seen.means("whole request")
        or "body" in seen.told_too_much
        or _of_the_request(seen)
        or (seen.status == 413 and seen.overflow < 0.7 and measured.unit not in ("tokens", "chars"))
    )


def _budget(seen: Seen, fault: Fault) -> Fault:
    measured = choose([n for n in _numbers(seen) if n.unit in ("", "tokens")])
    if "+" in seen.text and (ceiling := _SUM.search(seen.text) or CEILING.search(seen.text)):
        measured = Measured(int(re.sub(r"\D", "", ceiling[1])[:15]))
    return replace(fault, limit=measured.limit, actual=measured.actual, unit="tokens")
