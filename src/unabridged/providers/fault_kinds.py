"""Of what kind a refusal is (pure): a ladder of meanings, the surest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unabridged.providers.fault_measure import choose, numbers_in
from unabridged.providers.fault_seen import NEVER_OVERFLOW, SENTENCE
from unabridged.providers.fault_words import concept

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.providers.fault_seen import Seen
    from unabridged.types import FaultKind

__all__ = ["CEILING", "kind_of"]

Verdict = tuple["FaultKind", float]

_FIGURE = r"(?<![\d,.])(\d[\d,.]{0,24})"
_PROMPT_PARTS = (
    re.compile(rf"{_FIGURE}(?: tokens)? (?:in|of|from|for) (?:the |your )?(?:text input|prompt|messages?|input)"),
    re.compile(rf"{_FIGURE} '?(?:inputs?|prompt|input|text input)'? tokens"),
    re.compile(rf"(?:request|prompt|messages?|input) (?:has|have|contains?) {_FIGURE} (?:input |prompt )?tokens"),
    re.compile(rf": {_FIGURE} \+ \d[\d,.]{{0,24}} >"),
)
_OUTPUT_PART = re.compile(
    rf"{_FIGURE}(?: tokens)? (?:in|for) the (?:completion|output)|\+ {_FIGURE} >"
    rf"|{_FIGURE} '?(?:max_new_tokens|max_tokens|completion|output)'?"
)
CEILING = re.compile(rf"(?:context (?:length|limit|window|size)[^\d]{{0,24}}|<= |> ){_FIGURE}")
_BUDGET_FIELDS = frozenset(
    ("max_tokens", "max_new_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens")
)
_BUDGET = r"(?:max_?(?:new_?|output_?|completion_?)?tokens|num_predict)"
_BUDGET_TOO_LARGE = re.compile(
    rf"{_BUDGET}'?\s?(?:'|\w|\(|\)|=|:| ){{0,60}}?(?:too (?:large|big|high)|must|should|at most|less than"
    r"|exceed|cannot|greater|<=|larger|超|最大|不能|范围)"
    rf"|(?:too (?:large|big|high)|exceed\w*|invalid|maximum|range of|支持的)[^.]{{0,40}}{_BUDGET}"
    r"|maximum output|max(?:imum)? (?:completion|output) tokens|最大输出|最大出力|최대 출력"
)
_UNKNOWN_FIELD = re.compile(
    r"(?:unknown|unexpected|unsupported|unrecogni[sz]ed|extra) (?:field|parameter|argument|key|input|option)"
)
_BUDGET_FIRST = re.compile(rf"(?:.{{0,120}}?[:-] )?\W*(?:\w+ ){{0,4}}'?{_BUDGET}\b")
_PER_MONTH = re.compile(r"(?:calls?|requests?|tokens?) ?(?:/|per|a|each) ?(?:month|week|billing)")
_RECORDING = re.compile(r"\b(?:audio|video|clip|recording)")
_OF_THE_SERVER = (None, 200, 400, 408, 500, 502, 504)
_SECONDS = re.compile(
    r"[^\d.;]{0,30}?\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|minutes?|秒|초|sekunden?|secondes?|segundos?|секунд\w*)\b"
)
_PER_MINUTE = re.compile(
    r"per[ -]?(?:minute|second)|/ ?min|perminute|\b[rtqc]p[ms]\b|\bqps\b|每(?:分钟|秒)|毎分|分あたり|분당"
    r"|(?:pro|je) minute|par minute|por minuto|в минуту"
)
_RATE_NAMED = re.compile(
    r"rate[ -]?limit|ratelimit|throttl|too many requests|限流|频率|レート制限|속도 제한|ratenlimit"
)
# Google's per-minute quotas say "quota" only; these are the words that they say it in.
_REFILLING_QUOTA = re.compile(
    r"e\.g\. check quota|allocat\w* quota|base_model|resource exhausted|resource has been exhausted"
)
_OF_A_BATCH = re.compile(r"requests? (?:can be )?(?:in|per) (?:one |a |each |the )?batch")
_COMPLAINT = re.compile(r"error|fail|invalid|exceed|limit|not |insufficient|错误|失败|不|エラー|오류")
_REFUSED = re.compile(
    r"invalid|support|must|exceed|less|between|range|only|mismatch|allow|not |maxim|accept|too |最大"
    r"|error|expected|不|超|范围|无|対応|無効|지원|ungultig|nicht|non |no |nao |не |превы|superi"
)
_OVER = re.compile(
    r"exceed|too (?:long|large|big|many)|(?:longer|larger|greater|more) than(?! 0)|(?<!=)> ?\d|range of"
    r"|in range|超|过长|太长|초과|너무|zu lang|zu viele|uber|depass|trop|exced|super|ultrapass|превы|слишком"
)
_BAD_PARAMETER = re.compile(
    r"invalid|bad request|parameter|argument|illegal|malformed|参数|無效|无效|パラメータ|파라미터"
    r"|ungultig|invalide|invalido|неверн|недопустим"
)
_NO_CONNECTION = re.compile(r"Connect|Network|Protocol|Connection")
_WIDTH_FIELDS = frozenset(("dimensions", "dimension", "output_dimension", "outputdimensionality", "truncate_dim"))
_BY_STATUS: dict[int, Verdict] = {
    401: ("auth", 0.8),
    402: ("quota", 0.8),
    403: ("auth", 0.6),
    407: ("auth", 0.7),
    408: ("timeout", 0.7),
    413: ("request_overflow", 0.5),
    429: ("rate_limit", 0.7),
    503: ("overloaded", 0.5),
    504: ("timeout", 0.7),
    522: ("timeout", 0.7),
    524: ("timeout", 0.7),
    529: ("overloaded", 0.8),
    598: ("timeout", 0.6),
}


def kind_of(seen: Seen) -> Verdict:
    """The kind of a refusal and how sure that is."""
    for step in _LADDER:
        verdict = step(seen)
        if verdict is not None:
            return verdict
    return _by_status(seen)


def _nothing_said(seen: Seen) -> Verdict | None:
    """A success without a word of error: a reply that cannot be used."""
    if seen.sent_ok and not (seen.text.strip() or seen.codes.strip()):
        return "bad_reply", 0.9 if seen.reading.empty else 0.6
    if seen.sent_ok and (seen.reading.empty or seen.reading.page) and not seen.says(_COMPLAINT):
        return "bad_reply", 0.8
    return None


def _values(seen: Seen) -> Verdict | None:
    if seen.writes("wrong count"):
        return "bad_reply", 0.85
    return ("bad_values", 0.95) if seen.writes("bad values") else None


def _timeout(seen: Seen) -> Verdict | None:
    if seen.means("timeout"):
        return "timeout", 0.95
    if "Timeout" in seen.reading.exception or (seen.status in _OF_THE_SERVER and _took_too_long(seen)):
        return "timeout", 0.9
    return None


def _took_too_long(seen: Seen) -> bool:
    """So many seconds were too many."""
    if seen.means("overloaded", "auth", "rate") or _RECORDING.search(seen.text):
        return False
    return any(_SECONDS.match(seen.text, found.end) for found in seen.marks if found.tag in ("exceed", "max", "toobig"))


def _output_budget(seen: Seen) -> Verdict | None:
    """``max_tokens`` over its maximum; or a prompt that fits, but not beside the completion asked for."""
    if _UNKNOWN_FIELD.search(seen.text) or seen.status == 429:
        return None
    if _asked_to_write(seen):
        return "output_budget", 0.85
    if seen.fields & _BUDGET_FIELDS and seen.fields <= _BUDGET_FIELDS and seen.writes("too much"):
        return "output_budget", 0.9
    return _budget_in_words(seen) if seen.writes("output") else None


def _budget_in_words(seen: Seen) -> Verdict | None:
    prompt = next((_value(found) for pattern in _PROMPT_PARTS if (found := pattern.search(seen.text))), None)
    asked, ceiling = _OUTPUT_PART.search(seen.text), CEILING.search(seen.text)
    if prompt is not None and ceiling is not None:
        fits = prompt <= _value(ceiling) and (asked is None or _value(asked) > 0)
        return ("output_budget", 0.9) if fits else None
    if _BUDGET_TOO_LARGE.search(seen.text):
        return "output_budget", 0.9
    about = next((part for part in SENTENCE.split(seen.text)[:40] if _BUDGET_FIRST.match(part)), "")
    too_much = concept("too much").search(about) and not concept("context").search(about)
    return ("output_budget", 0.85) if too_much else None


def _asked_to_write(seen: Seen) -> bool:
    """Output is more than what may be, and no word is of an input."""
    tags = {found.tag for found in seen.marks}
    too_much = tags & {"max", "exceed", "toobig", "may"}
    return "output" in tags and bool(too_much) and not tags & {"text", "context", "request", "batch", "item"}


def _value(found: re.Match[str]) -> int:
    digits = re.sub(r"\D", "", next(group for group in found.groups() if group))
    return int(digits[:15] or 0)


def _limited(seen: Seen) -> Verdict | None:
    """Rates and quotas. A rate that is named beats a quota; money that has run out beats both."""
    if (seen.status == 401 and seen.means("auth")) or (seen.status in (503, 529) and seen.means("overloaded")):
        return None
    per_minute = seen.says(_PER_MINUTE)
    if not per_minute and _is_used_up(seen):
        return "quota", 0.9
    if seen.means("rate") and not _OF_A_BATCH.search(seen.text):
        return "rate_limit", 0.95 if seen.status == 429 or seen.says(_RATE_NAMED) else 0.85
    quota = seen.means("quota") and not seen.overflow
    if quota or (seen.status == 429 and not seen.means("overloaded")):
        return _by_quota(seen, per_minute=per_minute)
    return None


def _is_used_up(seen: Seen) -> bool:
    """Money, or what is given for a month: waiting a minute brings it not back."""
    if _PER_MONTH.search(seen.text):
        return True
    # "your plan" and "per month" may stand beside a text that is too long for the model.
    strong = seen.told_too_much & {"context", "toobig", "toomany", "fit"}
    by_size = seen.overflow and strong and seen.status not in (402, 403, 429)
    return seen.means("quota hard") and not _RATE_NAMED.search(seen.text) and not by_size


def _by_quota(seen: Seen, *, per_minute: bool) -> Verdict:
    """A quota that refills within minutes is a rate limit under another name (Google's)."""
    if per_minute or seen.says(_REFILLING_QUOTA):
        return "rate_limit", 0.85
    if seen.reading.waits and "insufficient" not in seen.text and "per day" not in seen.text:
        return "rate_limit", 0.7
    return ("quota", 0.9) if seen.means("quota") else ("rate_limit", 0.7)


def _auth(seen: Seen) -> Verdict | None:
    if seen.means("model missing") and seen.status not in (401, 403):
        return None
    of_a_text = seen.overflow >= 0.8 and seen.told_too_much & {"text", "context", "body", "batch", "item"}
    if seen.status == 401 or (seen.means("auth") and not of_a_text):
        return "auth", 0.95 if seen.status in (401, 403) else 0.85
    return None


def _dimensions(seen: Seen) -> Verdict | None:
    named = bool(seen.fields) and seen.fields <= _WIDTH_FIELDS
    if seen.writes("length shapes") or not (named or seen.writes("dimensions")):
        return None
    refused = _REFUSED.search(seen.text) or seen.status in (400, 422)
    return ("invalid_dimensions", 0.9) if refused else None


def _overflow(seen: Seen) -> Verdict | None:
    """Words of overflow, unless they say that something is empty, busy, or refused for its rate."""
    if seen.writes("nothing") and seen.status in (400, 422) and not _over_by_numbers(seen):
        return "empty_input", 0.85
    busy = seen.status not in (400, 413, 422) and any(found.tag == "busy" for found in seen.marks)
    if seen.overflow < 0.6 or seen.status == 429 or busy or (seen.overflow < 0.8 and seen.means("overloaded")):
        return None
    if seen.writes("empty") and not _OVER.search(seen.about_text) and not _over_by_numbers(seen):
        return "empty_input", 0.9
    return "input_overflow", seen.overflow


def _over_by_numbers(seen: Seen) -> bool:
    measured = choose(numbers_in(seen.about_text, status=seen.status))
    return measured.limit is not None and (measured.actual or 0) > measured.limit > 1


def _model(seen: Seen) -> Verdict | None:
    if seen.means("model missing"):
        return "model_not_found", 0.9
    return ("model_not_found", 0.7) if seen.status == 404 and "model" in f"{seen.text} {seen.codes}" else None


def _empty(seen: Seen) -> Verdict | None:
    tags = {found.tag for found in seen.marks}
    if seen.status == 429 or ("other" in tags and "text" not in tags):  # "the password is too short"
        return None
    return ("empty_input", 0.9) if seen.means("empty") else None


def _overloaded(seen: Seen) -> Verdict | None:
    return ("overloaded", 0.9) if seen.means("overloaded") else None


def _two_sizes(seen: Seen) -> Verdict | None:
    """No word of it is known, but two sizes of text stand there, the larger one against a limit."""
    text = seen.about_text
    known = bool(concept("subject").search(text) or concept("subject if sized").search(text))
    known = known or any(found.tag in ("tok", "char", "text", "item") for found in seen.marks)
    if seen.status in NEVER_OVERFLOW or seen.elsewhere or seen.other_matter or (not known and text.isascii()):
        return None
    if text != seen.text and not (concept("head").search(text) or concept("context").search(text)):
        return None
    numbers = numbers_in(text, status=seen.status)
    measured = choose(numbers)
    if measured.actual is None or measured.unit not in ("tokens", "chars", "bytes", "inputs") or len(numbers) > 8:
        return None
    told = any(number.value == measured.limit and number.as_limit >= 2 for number in numbers)
    # In a language not in the lexicon: two counts of tokens in a refusal can hardly be anything else.
    units = {number.unit for number in numbers} - {""}
    counts = len(numbers) == 2 and len(units) == 1 and seen.status in (400, 413, 422)
    counts = counts and not any(found.tag == "other" for found in seen.marks)
    return ("input_overflow", 0.65) if told or counts else None


def _shape(seen: Seen) -> Verdict | None:
    if not seen.writes("bad shape"):
        return None
    if seen.elsewhere:
        return "bad_request", 0.8
    return "wrong_shape", 0.85


def _upstream(seen: Seen) -> Verdict | None:
    failed = seen.means("upstream") or _NO_CONNECTION.search(seen.reading.exception)
    return ("upstream_error", 0.85) if failed and seen.status not in (400, 404, 413, 422) else None


def _by_status(seen: Seen) -> Verdict:
    """No word told: the status is all there is, and it says little."""
    status = seen.status
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if seen.sent_ok:
        return "upstream_error", 0.5
    if status is not None and status >= 500:
        return "upstream_error", 0.6
    if status is not None and 400 <= status < 500:
        return "bad_request", 0.5
    return ("bad_request", 0.3) if seen.says(_BAD_PARAMETER) else ("unknown", 0.1)


_LADDER: tuple[Callable[[Seen], Verdict | None], ...] = (
    _nothing_said,
    _values,
    _timeout,
    _output_budget,
    _limited,
    _auth,
    _dimensions,
    _overflow,
    _model,
    _empty,
    _overloaded,
    _two_sizes,
    _shape,
    _upstream,
)
