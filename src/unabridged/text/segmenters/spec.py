"""What to cut by: the method, the sizes that all share, and the method's own settings."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, SettingCorrected

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SegmentSpec", "check_settings", "segment_spec"]

_SMALLEST, _LARGEST = 32, 1_000_000  # tokens (SPEC S2)
_DEFAULT = 1200  # the size of the sources' recipe "survey" (SPEC S2)
_SIZES = ("max_tokens", "overlap_tokens", "min_tokens")


@dataclass(frozen=True, slots=True)
class SegmentSpec:
    """A segmentation, taken as it is: :func:`segment_spec` makes one and holds its sizes to their ranges."""

    method: str = "paragraph"
    max_tokens: int = _DEFAULT
    overlap_tokens: int = 0
    min_tokens: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """One of the method's own settings."""
        value = self.settings.get(name)
        return default if value is None else value


def segment_spec(
    method: str | Mapping[str, Any] | SegmentSpec = "paragraph",
    *,
    max_tokens: int | None = None,
    overlap_tokens: int | None = None,
    min_tokens: int | None = None,
    **settings: Any,
) -> SegmentSpec:
    """A spec from a name, a mapping or a spec (SPEC S17), its sizes held to their ranges (SPEC S2).

    What is given by keyword goes before what the mapping or spec says. A size out of range is corrected and
    the correction announced as a :class:`~unabridged.errors.SettingCorrected` warning; a value that is no
    whole number is a :class:`~unabridged.errors.ConfigError`.

    >>> segment_spec({"method": "fixed", "max_tokens": 120}).max_tokens
    120
    """
    given = {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens, "min_tokens": min_tokens}
    given = {name: value for name, value in given.items() if value is not None} | settings
    if isinstance(method, SegmentSpec):
        if not given:
            return method
        sizes = {name: getattr(method, name) for name in _SIZES}
        values: dict[str, Any] = {"method": method.method, **sizes, **method.settings, **given}
    elif isinstance(method, Mapping):
        values = {"method": "paragraph", **method, **given}
    else:
        values = {"method": method, **given}
    return _held(values)


def _held(values: dict[str, Any]) -> SegmentSpec:
    name = values.pop("method")
    if not isinstance(name, str):
        raise ConfigError("method", f"found a {type(name).__name__}, expected a segmenter's name")
    notes: list[str] = []
    cap = _hold("max_tokens", values.pop("max_tokens", None), _DEFAULT, (_SMALLEST, _LARGEST), notes)
    overlap = _hold("overlap_tokens", values.pop("overlap_tokens", None), 0, (0, cap - 1), notes)
    least = _hold("min_tokens", values.pop("min_tokens", None), 0, (0, cap), notes)
    return SegmentSpec(name, cap, overlap, least, values, tuple(notes))


def _hold(name: str, value: Any, default: int, bounds: tuple[int, int], notes: list[str]) -> int:
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(name, f"found a {type(value).__name__}, expected a whole number of tokens")
    held = min(max(value, bounds[0]), bounds[1])
    if held != value:
        notes.append(f"`{name}` {value} is outside [{bounds[0]}, {bounds[1]}]; using {held}.")
        warnings.warn(notes[-1], SettingCorrected, stacklevel=5)
    return held


def check_settings(spec: SegmentSpec, known: Iterable[str]) -> None:
    """Refuse a setting that the method does not have, naming the nearest that it has."""
    names = (*_SIZES, *known)
    for name in spec.settings:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(names))}"
            raise ConfigError(name, f"not a setting of the segmenter {spec.method!r}; {hint}")
