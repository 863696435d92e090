"""What is wrapped already: the same comes back, or one around the same client with the options that are new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unabridged.adapters.standin import StandIn
from unabridged.errors import ConfigError

__all__ = ["again", "is_ours"]


def is_ours(thing: Any) -> bool:
    """Whether it is wrapped already: a stand-in, or an object of a class of ours.

    >>> from unabridged import wrap
    >>> is_ours(len), is_ours(wrap(len))
    (False, True)
    """
    # By its real class: a router says that it is LiteLLM's.
    return any(kind.__module__.startswith("unabridged.adapters.") for kind in type(thing).__mro__)


def again(thing: Any, options: Mapping[str, Any]) -> Any:
    """What is ours as it is; with options given anew, another around what is inside, and never one around ours.

    Options that it had and that are not given again stay.
    """
    if not options:
        return thing
    made = thing.__reduce_ex__(2)  # what a copy is made from: a function, what is inside, the options so far
    match made:
        case (make, (inner, Mapping() as before)):
            fresh = make(inner, {**before, **options})
        case _:
            kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
            raise ConfigError("wrap", f"found a {kind}, which is wrapped already; give all options when it is made")
    if isinstance(thing, StandIn):
        fresh.held_by(thing)
    return fresh
