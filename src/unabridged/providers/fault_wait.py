"""How long a provider asks to wait: from headers, from fields, from its own words (pure)."""

from __future__ import annotations

import math
import re
import time
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING

from unabridged.providers.fault_lexicon import mark
from unabridged.providers.fault_words import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["duration", "header_table", "stated_wait", "waited_by_headers"]

_LONGEST = 31 * 86_400.0  # a month: beyond that it is a date read wrongly
_UNITS = {
    "ms": 0.001,
    "millisecond": 0.001,
    "milliseconds": 0.001,
    "毫秒": 0.001,
    "ミリ秒": 0.001,
    "밀리초": 0.001,
    "мс": 0.001,
    "d": 86_400.0,
    "day": 86_400.0,
    "days": 86_400.0,
    "天": 86_400.0,
    "日": 86_400.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hrs": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "小时": 3600.0,
    "小時": 3600.0,
    "時間": 3600.0,
    "시간": 3600.0,
    "m": 60.0,
    "min": 60.0,
    "mins": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "分钟": 60.0,
    "分鐘": 60.0,
    "分": 60.0,
    "분": 60.0,
    "minuten": 60.0,
    "minuto": 60.0,
    "minutos": 60.0,
    "минут": 60.0,
    "минуты": 60.0,
    "минуту": 60.0,
    "мин": 60.0,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "秒": 1.0,
    "秒钟": 1.0,
    "秒間": 1.0,
    "초": 1.0,
    "sekunde": 1.0,
    "sekunden": 1.0,
    "seconde": 1.0,
    "secondes": 1.0,
    "segundo": 1.0,
    "segundos": 1.0,
    "secondo": 1.0,
    "secondi": 1.0,
    "секунд": 1.0,
    "секунды": 1.0,
    "секунду": 1.0,
    "сек": 1.0,
    "с": 1.0,
} | {
    word: size
    for size, words in (
        (
            1.0,
            "giay saniye detik วินาที ثانيه ثوان ثواني שניות שנייה שנים सेकंड सेकेंड সেকেন্ড sekund sekundy sekunder seconden",
        ),
        (1.0, "sekuntia sekunnin masodperc secunde secunda δευτερολεπτα секунди sek sn sekundach vterin seconds"),
        (60.0, "phut dakika menit minit นาที دقيقه دقائق דקות דקה मिनट মিনিট minuty minut minuter minutter minuut"),
        (60.0, "minuuttia minuutin perc minute λεπτα λεπτο хвилин хвилини хвилину minuti minutach"),
        (
            3600.0,
            "gio saat jam ชั่วโมง ساعه שעה שעות घंटे stunden stunde heures heure horas hora ore godzin hodin час часа",
        ),
    )
    for word in words.split()
}
_NAMES = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_AMOUNT = rf"\d{{1,9}}(?:[.,]\d{{1,9}})?\s?(?:{_NAMES})(?![a-zа-я])"
_DURATION = re.compile(rf"(\d{{1,9}}(?:[.,]\d{{1,9}})?)\s?({_NAMES})(?![a-zа-я])")
_COMPACT = re.compile(r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?$")
_SPAN = (
    rf"{_AMOUNT}(?:(?:\s|,| and )*{_AMOUNT})*|(?:\d{{1,9}}h)?(?:\d{{1,9}}m)?\d{{1,9}}(?:\.\d{{1,9}})?s\b"
    r"|\d{1,9}h\d{1,9}m\b"
)
_ANY_SPAN = re.compile(rf"(?<![\w.,]){_AMOUNT}")
_FAR = 32
_BARE = re.compile(
    r"retry[ _-]?after(?:[ _-]?(?P<unit>ms|seconds?|secs?))?'?\s?[:=]?\s?'?(?P<value>\d{1,9}(?:\.\d+)?)"
    r"(?![\d\w.:-])"
)
_FIELDS = (
    ("retry_after_ms", 0.001),
    ("retryafterms", 0.001),
    ("retry-after-ms", 0.001),
    ("retry_after_seconds", 1.0),
    ("retry_after", 1.0),
    ("retryafter", 1.0),
    ("retry-after", 1.0),
    ("retryafterseconds", 1.0),
    ("estimated_time", 1.0),
    ("retry_in", 1.0),
    ("wait_seconds", 1.0),
)


def duration(text: str) -> float | None:
    """Seconds in ``1m30s``, ``176ms``, ``20 seconds``, ``6m0s``, ``20秒``; ``None`` if it is none.

    >>> duration("1m30s"), duration("176ms"), duration("2 minutes and 5 seconds"), duration("soon")
    (90.0, 0.176, 125.0, None)
    """
    text = text.strip().casefold()[:80]
    compact = _COMPACT.match(text)
    if compact and any(compact.groups()):
        return sum(
            float(part) * size for part, size in zip(compact.groups(), (86_400, 3600, 60, 1), strict=True) if part
        )
    parts = _DURATION.findall(text)
    if not parts:
        return None
    return round(sum(float(value.replace(",", ".")) * _UNITS[unit] for value, unit in parts), 6)


def header_table(headers: object) -> dict[str, str]:
    """Any kind of headers as a plain mapping of lower-case names; empty if they are none."""
    try:
        items = headers.items() if hasattr(headers, "items") else list(headers or ())  # type: ignore[call-overload]
        return {_text(name).casefold(): _text(value) for name, value in items}
    except Exception:  # noqa: BLE001
        return {}


def _text(value: object) -> str:
    return (value.decode("latin-1") if isinstance(value, bytes) else str(value)).strip()[:200]


def waited_by_headers(headers: Mapping[str, str], *, limited: bool) -> float | None:
    """What ``retry-after-ms``, ``retry-after`` and, for rate limits, ``x-ratelimit-reset-*`` ask for."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        seconds = _number(headers.get(name, ""))
        if seconds is not None:
            return _sane(seconds / 1000)
    for name in ("retry-after", "x-retry-after"):
        if name in headers:
            wait = _retry_after(headers[name], headers.get("date"))
            if wait is not None:
                return wait
    return _reset(headers) if limited else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sane(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= _LONGEST else None


def _retry_after(text: str, now: str | None) -> float | None:
    seconds = _number(text)
    if seconds is not None:
        return _sane(seconds)
    return _sane(duration(text)) if duration(text) is not None else _until(text, now)


def _until(text: str, now: str | None) -> float | None:
    """Seconds to an HTTP date, by the server's own clock where it tells."""
    moment = _moment(text)
    if moment is None:
        return None
    base = _moment(now) if now else None
    return _sane(max(0.0, moment - (time.time() if base is None else base)))


def _moment(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError, OSError, IndexError):
        return None


def _reset(headers: Mapping[str, str]) -> float | None:
    """The reset of what is used up; of all of them if none says that it is."""
    resets = {
        name: wait for name, text in headers.items() if "ratelimit-reset" in name and (wait := _span(text)) is not None
    }
    spent = [
        wait
        for name, wait in resets.items()
        if headers.get(name.replace("reset", "remaining"), "").strip() in ("0", "0.0")
    ]
    return max(spent or resets.values(), default=None)


def _span(text: str) -> float | None:
    """A reset is a duration, a number of seconds, or a moment since 1970 (seconds or milliseconds)."""
    value = _number(text)
    if value is None:
        return _sane(duration(text))
    if value > 1e12:
        value /= 1000
    return _sane(max(0.0, value - time.time()) if value > 1e9 else value)


@cache
def _said() -> re.Pattern[str]:
    """A span of time after a word that asks to wait, or before one that says when."""
    return re.compile(
        rf"(?:{terms('wait before')})[^\d]{{0,40}}(?P<span>{_SPAN})"
        rf"|(?<![\d.,])(?P<lead>{_SPAN})\s?(?:{terms('wait after')})"
    )


def _beside_wait(text: str) -> str:
    """A span of time that stands beside a word for waiting, in any language of the lexicon."""
    waits = [found for found in mark(text[:2_000]) if found.tag == "wait"]
    spans = list(_ANY_SPAN.finditer(text[:2_000])) if waits else []
    near = [
        (min(abs(wait.start - span.end()), abs(span.start() - wait.end)), span[0])
        for span in spans[:8]
        for wait in waits[:8]
    ]
    distance, span = min(near, default=(_FAR, ""))
    return span if distance < _FAR else ""


def stated_wait(text: str, fields: Mapping[str, float], codes: Mapping[str, str] | None = None) -> float | None:
    """What the reply itself asks for, in fields (``estimated_time``) or words ("try again in 176ms").

    >>> stated_wait("please try again in 1m30s.", {}), stated_wait("retry after 2 seconds", {})
    (90.0, 2.0)
    """
    for name, size in _FIELDS:
        if name in fields:
            return _sane(fields[name] * size)
    for name, value in (codes or {}).items():
        if "retry" in name and (wait := duration(value)) is not None:
            return _sane(wait)
    found = _said().search(text)
    if found:
        return _sane(duration(found["span"] or found["lead"]))
    if near := _beside_wait(text):
        return _sane(duration(near))
    bare = _BARE.search(text)
    return _sane(float(bare["value"]) * (0.001 if bare["unit"] == "ms" else 1.0)) if bare else None
