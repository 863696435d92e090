"""What is told to whoever asks for a path that is not there, or not in this way: what there is, and where it is.

Nothing of the path is repeated, for it may hold anything: only paths of ours are named.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Paths = Mapping[str, Iterable[str]]

__all__ = ["not_in_this_way", "nothing_at"]

_NEAR = 0.75  # of the letters of one part of the path: ``artefacts`` is near ``artifacts``, ``labels`` near nothing
_FRAME = {"v1", "v2", "gb", "api", "openai"}  # what paths begin with, whatever they are of
_LONGEST, _MOST = 80, 8  # letters and parts that are looked at
_LISTED = "GET /openapi.json lists what there is"
# The last parts of paths by which clients ask for what is no embedding (OpenAI, Anthropic, Cohere, Ollama).
_OTHER_WORK = re.compile(
    r"/(?:v1|v2|api|openai/deployments/[^/]+)/(?:chat/completions|completions|responses|messages|chat|generate|rerank|"
    r"moderations|images/\w+|audio/\w+)/?"
)
_ONLY_EMBEDDINGS = (
    "this gateway serves embeddings and no other model: POST /v1/embeddings, and GET /v1/models lists the names"
)


def nothing_at(paths: Paths, path: str) -> Problem:
    """Problem 404 that names the nearest of the paths (path -> methods, as an OpenAPI document has them).

    >>> nothing_at({"/v1/gb/recall": {"post": {}}}, "/v1/gb/recal").detail
    'nothing is at this path; did you mean POST /v1/gb/recall? GET /openapi.json lists what there is'
    """
    if _OTHER_WORK.fullmatch(path):
        return Problem(404, f"nothing is at this path; {_ONLY_EMBEDDINGS}", code="not_found")
    near = _nearest(path, paths)
    meant = "" if near is None else f"did you mean {_methods(paths[near])} {near}? "
    return Problem(404, f"nothing is at this path; {meant}{_LISTED}", code="not_found")


def not_in_this_way(paths: Paths, path: str, headers: Mapping[str, str] | None) -> Problem:
    """Problem 405 that names the methods of a path; ``headers`` are the framework's, which tell of one route alone.

    >>> not_in_this_way({"/v1/gb/edges/{id}": {"get": {}, "patch": {}}}, "/v1/gb/edges/e1", None).detail
    'this path takes GET, PATCH'
    """
    here = next((each for each in paths if _form(each).fullmatch(path)), None)
    allowed = next((value for name, value in (headers or {}).items() if name.lower() == "allow"), "")
    told = allowed if here is None else _methods(paths[here])
    return Problem(405, f"this path takes {told}", headers={"Allow": told})


def _form(path: str) -> re.Pattern[str]:
    """What a path with parameters matches; they are the only ones that braces stand for."""
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", path)))


def _methods(of: Iterable[str]) -> str:
    return ", ".join(sorted(each.upper() for each in of))


def _nearest(path: str, known: Iterable[str]) -> str | None:
    """The known path that shares a part with this one, or nearly; of several the one most like it.

    >>> paths = {"/v1/gb/entities/{id}/timeline", "/v1/gb/entities", "/v1/embeddings"}
    >>> _nearest("/v1/gb/timeline", paths), _nearest("/embeddings", paths), _nearest("/v1/gb/labels", paths)
    ('/v1/gb/entities/{id}/timeline', '/v1/embeddings', None)
    """
    found = [(_likeness(path, each), each) for each in sorted(known)]
    best, near = max(found, key=lambda one: one[0], default=((0.0, 0, 0.0), None))
    return near if best[0] >= _NEAR else None


def _likeness(path: str, known: str) -> tuple[float, int, float]:
    """Of the parts the two that are most alike, then how many there are, then the letters of the whole."""
    asked, parts = _parts(path), _parts(known)
    best = max((_ratio(one, other) for one in asked for other in parts if not other.startswith("{")), default=0.0)
    return best, -abs(len(asked) - len(parts)), _ratio(path[:_LONGEST], known)


def _parts(path: str) -> list[str]:
    """The parts that tell what a path is of; no more and no longer ones than a path of ours has."""
    return [part[:_LONGEST].lower() for part in path.split("/")[:_MOST] if part and part not in _FRAME]


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
