"""Of what kind a refusal is (pure): a ladder of meanings, the surest first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from unabridged.providers import fault_words as words
from unabridged.providers.fault_numbers import find_numbers, measure, prepare
from unabridged.providers.fault_places import mask_indices

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.providers.fault_text import Reading
    from unabridged.types import FaultKind

__all__ = ["CEILING", "Seen", "kind_of"]

Verdict = tuple["FaultKind", float]

# Parameters of a request that hold no text to embed: too long a one of these is no overflow.
_OTHER_FIELDS = frozenset(
    "user model metadata id name encoding_format dimensions task instruction title tags label labels safety_identifier "
    "prompt_cache_key model_id input_type task_type key key_id token organization project stop tools tool_choice seed "
    "priority request_id session_id user_id url image file filename description webhook callback_url output_dimension "
    "temperature top_p top_k max_tokens max_new_tokens best_of presence_penalty logit_bias truncate".split()
)
_NUMBER = r"(?<![\d,.])(\d[\d,.]{0,24})"
_PARTS = (
    re.compile(rf"{_NUMBER}(?: tokens)? (?:in|of|from|for) (?:the |your )?(?:text input|prompt|messages?|input)"),
    re.compile(rf"{_NUMBER} '?(?:inputs?|prompt|input|text input)'? tokens"),
    re.compile(rf"(?:request|prompt|messages?|input) (?:has|have|contains?) {_NUMBER} (?:input |prompt )?tokens"),
    re.compile(rf": {_NUMBER} \+ \d[\d,.]{{0,24}} >"),
)
_ASKED = re.compile(
    rf"{_NUMBER}(?: tokens)? (?:in|for) the (?:completion|output)|{_NUMBER} '?(?:max_new_tokens|max_tokens|completion|output)'?|\+ {_NUMBER} >"
)
CEILING = re.compile(rf"(?:context (?:length|limit|window|size)[^\d]{{0,24}}|<= |> ){_NUMBER}")
_BUDGET_FIELD = re.compile(
    r"max_?(?:new_|output_|completion_)?tokens'?\s?(?:'|\w|\(|\)|=|:| ){0,60}?(?:too (?:large|big|high)|must|should|at most|less than|exceed|cannot|greater|<=|larger|超|最大|不能|范围)|"
    r"(?:too (?:large|big|high)|exceed\w*|invalid|maximum|range of|支持的)[^.]{0,40}max_?(?:new_|output_|completion_)?tokens|maximum output|max(?:imum)? (?:completion|output) tokens|最大输出|最大出力|최대 출력"
)
_BUDGET_HEAD = re.compile(r"\W*(?:\w+ ){0,4}'?max_?(?:new_|output_|completion_)?tokens\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s|[。！？；\n]|\s\|\s")
_INVALID = re.compile(r"invalid|bad request|parameter|argument|illegal|malformed|参数|無效|无效|パラメータ|파라미터|ungultig|invalide|invalido|неверн|недопустим")
_GENERIC_404 = re.compile(r"not found|no such|does not exist|404")
_SERVER_STATUS: dict[int, Verdict] = {
    408: ("timeout", 0.7), 504: ("timeout", 0.7), 522: ("timeout", 0.7), 524: ("timeout", 0.7), 598: ("timeout", 0.6),
    401: ("auth", 0.8), 407: ("auth", 0.7), 402: ("quota", 0.8), 403: ("auth", 0.6), 429: ("rate_limit", 0.7),
    503: ("overloaded", 0.5), 529: ("overloaded", 0.8), 413: ("request_overflow", 0.5),
}  # fmt: skip


@dataclass(slots=False)
class Seen:
    """A reply as the ladder sees it: normal text, spelled-out codes, the status in force."""

    reading: Reading
    text: str
    codes: str
    status: int | None
    fields: frozenset[str]
    sent_ok: bool

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether the words or the codes match."""
        return bool(pattern.search(self.text) or pattern.search(self.codes))

    @cached_property
    def about_text(self) -> str:
        """The text without what is long, large or many but no text: retries, dimensions, headers …"""
        return words.NOT_TEXT.sub(" ", self.text)

    @cached_property
    def overflow(self) -> float:
        """How surely something of the input is over something: 0 … 1."""
        return 0.0 if self._elsewhere() else max(self._by_shape(), self._by_words())

    def _elsewhere(self) -> bool:
        """The complaint names only parameters that hold no text."""
        return bool(self.fields) and self.fields <= _OTHER_FIELDS | {"body", "query", "str", "list[str]", "error"}

    def _by_shape(self) -> float:
        if words.LENGTH_SHAPES.search(self.text):
            return 0.6 if "index out of range in self" in self.text else 0.9
        return 0.95 if words.CODES.search(self.codes) else 0.0

    def _by_words(self) -> float:
        best = 0.0
        for whole in _SENTENCE.split(self.text)[:80]:
            sentence = words.NOT_TEXT.sub(" ", whole)
            if not words.TOO_MUCH.search(sentence):
                continue
            if sentence != whole and not (words.HEAD.search(sentence) or words.CONTEXT.search(sentence)):
                continue  # "title too long (max 200 characters)": the unit alone is no text
            if words.CONTEXT.search(sentence) or words.SUBJECT.search(sentence):
                return 0.9
            if words.SUBJECT_IF_SIZED.search(sentence) and words.SIZED.search(sentence):
                best = 0.75
        return best


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
    if seen.sent_ok and seen.reading.empty and not seen.says(_ANY_COMPLAINT):
        return "bad_reply", 0.8
    return None


_ANY_COMPLAINT = re.compile(r"error|fail|invalid|exceed|limit|not |insufficient|错误|失败|不|エラー|오류")


def _values(seen: Seen) -> Verdict | None:
    return ("bad_values", 0.95) if words.BAD_VALUES.search(seen.text) else None


def _asked_too_much_output(seen: Seen) -> Verdict | None:
    """``max_tokens`` over its maximum; or a prompt that fits, and a completion that does not fit beside it."""
    if not words.OUTPUT.search(seen.text) or seen.status == 429:
        return None
    prompt = next((_value(found) for pattern in _PARTS if (found := pattern.search(seen.text))), None)
    asked, ceiling = _ASKED.search(seen.text), CEILING.search(seen.text)
    if prompt is not None and ceiling is not None:
        if prompt > _value(ceiling):
            return None
        return ("output_budget", 0.9) if asked is None or _value(asked) > 0 else None
    if _BUDGET_FIELD.search(seen.text):
        return "output_budget", 0.9
    about = next((part for part in _SENTENCE.split(seen.text)[:40] if _BUDGET_HEAD.match(part)), "")
    return ("output_budget", 0.85) if words.TOO_MUCH.search(about) and not words.CONTEXT.search(about) else None


def _value(found: re.Match[str]) -> int:
    digits = re.sub(r"\D", "", next(group for group in found.groups() if group))
    return int(digits[:15] or 0)


def _limited(seen: Seen) -> Verdict | None:
    """Rates and quotas. A rate that is named beats a quota; money that has run out beats both."""
    per_minute = seen.says(_PER_MINUTE)
    by_size = seen.overflow and seen.status not in (402, 403, 429)
    if seen.says(words.QUOTA_HARD) and not per_minute and not seen.says(_RATE_NAMED) and not by_size:
        return "quota", 0.9
    if seen.says(words.RATE) and not _counts_requests_of_a_batch(seen):
        return "rate_limit", 0.95 if seen.status == 429 or seen.says(_RATE_NAMED) else 0.85
    if seen.status == 429 and not seen.says(words.OVERLOADED):
        return _by_quota(seen, per_minute=per_minute)
    if seen.says(words.QUOTA) and not seen.overflow:
        return _by_quota(seen, per_minute=per_minute)
    return None


_PER_MINUTE = re.compile(r"per ?(?:minute|second)|/ ?min|perminute|\b[rtqc]p[ms]\b|\bqps\b|每(?:分钟|秒)|毎分|分あたり|분당|(?:pro|je) minute|par minute|por minuto|в минуту")
_RATE_NAMED = re.compile(r"rate[ -]?limit|ratelimit|throttl|too many requests|限流|频率|レート制限|속도 제한|ratenlimit")
_CHECK_QUOTA = re.compile(r"e\.g\. check quota|allocat\w* quota|base_model|resource exhausted|resource has been exhausted")


def _counts_requests_of_a_batch(seen: Seen) -> bool:
    return bool(re.search(r"requests? (?:can be )?(?:in|per) (?:one |a |each |the )?batch", seen.text))


def _by_quota(seen: Seen, *, per_minute: bool) -> Verdict:
    """A quota that refills within minutes is a rate limit under another name (Google's)."""
    if per_minute or seen.says(_CHECK_QUOTA):
        return "rate_limit", 0.85
    if seen.reading.waits and not seen.says(re.compile(r"insufficient|per ?day")):
        return "rate_limit", 0.7
    return ("quota", 0.9) if seen.says(words.QUOTA) else ("rate_limit", 0.7)


def _timeout(seen: Seen) -> Verdict | None:
    if words.TIMEOUT.search(seen.text) or words.TIMEOUT.search(seen.codes):
        return "timeout", 0.95
    return ("timeout", 0.9) if "Timeout" in seen.reading.exception else None


def _auth(seen: Seen) -> Verdict | None:
    if seen.status == 401 or (seen.says(words.AUTH) and seen.overflow < 0.8):
        return "auth", 0.95 if seen.status in (401, 403) else 0.85
    return None


def _dimensions(seen: Seen) -> Verdict | None:
    complaint = re.compile(r"invalid|support|must|exceed|less|between|range|only|mismatch|allow|not |maxim|accept|too |最大|不|超|范围|无|対応|無効|지원|ungultig|nicht|non |no |nao |не |превы|superi")
    shaped = words.LENGTH_SHAPES.search(seen.text)
    if shaped or not words.DIMENSIONS.search(seen.text):
        return None
    return ("invalid_dimensions", 0.9) if complaint.search(seen.text) or seen.status in (400, 422) else None


def _sure_overflow(seen: Seen) -> Verdict | None:
    """Words of overflow, unless they say that something is empty, or was refused for its rate."""
    if seen.overflow < 0.6 or seen.status == 429 or (seen.overflow < 0.8 and seen.says(words.OVERLOADED)):
        return None
    if words.EMPTY.search(seen.text) and not _OVER.search(seen.about_text) and not _over_by_numbers(seen):
        return "empty_input", 0.9
    return "input_overflow", seen.overflow


_OVER = re.compile(
    r"exceed|too (?:long|large|big|many)|(?:longer|larger|greater|more) than(?! 0)|(?<!=)> ?\d|range of|in range|超|过长|太长|초과|너무|zu lang|zu viele|uber|"
    r"depass|trop|exced|super|ultrapass|превы|слишком"
)


def _over_by_numbers(seen: Seen) -> bool:
    measured = measure(find_numbers(prepare(mask_indices(seen.about_text)), status=seen.status))
    return measured.limit is not None and (measured.actual or 0) > measured.limit > 1


def _empty(seen: Seen) -> Verdict | None:
    return ("empty_input", 0.9) if seen.says(words.EMPTY) and seen.status != 429 else None


def _two_sizes(seen: Seen) -> Verdict | None:
    """No word of it is known, but two sizes of text stand there, the larger one against a limit."""
    if seen.status in (401, 403, 404, 429):
        return None
    if seen.about_text != seen.text and not (words.HEAD.search(seen.about_text) or words.CONTEXT.search(seen.about_text)):
        return None
    numbers = find_numbers(prepare(mask_indices(seen.about_text)), status=seen.status)
    if not 2 <= len({number.value for number in numbers}) <= 4:
        return None
    measured = measure(numbers)
    if not words.SUBJECT.search(seen.about_text) and seen.text.isascii():
        return None
    sized = measured.unit in ("tokens", "chars", "bytes", "inputs")
    told = any(number.value == measured.limit and number.as_limit >= 2 for number in numbers)
    # In a language not in the lexicon: two counts of tokens in a refusal can hardly be anything else.
    told = told or (
        len(numbers) == 2
        and seen.status in (400, 413, 422)
        and (all(n.unit == "tokens" for n in numbers) or (not seen.text.isascii() and any(n.unit == "tokens" for n in numbers)))
    )
    return ("input_overflow", 0.65) if sized and told and measured.actual is not None else None


def _model(seen: Seen) -> Verdict | None:
    if seen.says(words.MODEL_MISSING):
        return "model_not_found", 0.9
    return ("model_not_found", 0.7) if seen.status == 404 and "model" in f"{seen.text} {seen.codes}" else None


def _overloaded(seen: Seen) -> Verdict | None:
    return ("overloaded", 0.9) if seen.says(words.OVERLOADED) else None


def _shape(seen: Seen) -> Verdict | None:
    if not words.BAD_SHAPE.search(seen.text):
        return None
    if seen.fields and seen.fields <= _OTHER_FIELDS | {"body"}:
        return "bad_request", 0.8
    return "wrong_shape", 0.85


def _upstream(seen: Seen) -> Verdict | None:
    failed = seen.says(words.UPSTREAM) or re.search(r"Connect|Network|Protocol|Connection", seen.reading.exception)
    return ("upstream_error", 0.85) if failed and seen.status not in (400, 404, 413, 422) else None


def _by_status(seen: Seen) -> Verdict:
    """No word told: the status is all there is, and it says little."""
    status = seen.status
    if status in _SERVER_STATUS:
        return _SERVER_STATUS[status]
    if seen.sent_ok:
        return "upstream_error", 0.5
    if status is not None and status >= 500:
        return "upstream_error", 0.6
    if status is not None and 400 <= status < 500:
        return "bad_request", 0.5
    return ("bad_request", 0.3) if seen.says(_INVALID) else ("unknown", 0.1)


_LADDER: tuple[Callable[[Seen], Verdict | None], ...] = (
    _nothing_said,
    _values,
    _timeout,
    _asked_too_much_output,
    _limited,
    _auth,
    _dimensions,
    _sure_overflow,
    _model,
    _empty,
    _overloaded,
    _two_sizes,
    _shape,
    _upstream,
)
