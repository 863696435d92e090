"""Every error that unabridged raises, in one tree.

::

    UnabridgedError
    ├── ConfigError (ValueError)          a setting: its path, what was found, what would be right
    ├── InputError (ValueError)           a text or a file that cannot be taken
    │   ├── EmptyText                     blank, under the policy ``empty="error"``
    │   ├── UnknownScript                 too many unknown tokens, under ``on_unknown="error"``
    │   ├── UnreadableFile                missing, binary, wrongly encoded, not permitted
    │   └── CapUnenforceable              one character alone is over the limit
    ├── ProviderError                     a refusal; carries the classified :class:`~unabridged.types.Fault`
    │   ├── Overflow                      a text, or a request, over a limit
    │   ├── RateLimited                   also overloaded, and quotas
    │   ├── AuthFailed
    │   ├── ModelNotFound
    │   ├── BadReply                      an answer that cannot be trusted: count, index, width, NaN
    │   └── ProviderTimeout (TimeoutError)
    ├── ChatError                         a model's answer that cannot be used: unreadable, cut off, empty, withheld
    ├── BudgetExhausted                   too many attempts for one text: the limit, the attempts, the sizes
    ├── EmbeddingFailed                   some texts failed; the finished part is attached
    ├── ModelMismatch                     vectors of two models, or of one that drifted, would be mixed
    ├── Cancelled                         the caller asked to stop; what is stored is whole
    ├── RememberFailed                    a long text failed at one chunk: which, what is stored, how to go on
    ├── StoreError                        the memory: a lost lease, a refused commit, a newer schema
    │   ├── Conflict                      another writer moved the head
    │   ├── NotFound (LookupError)        an artifact, entity, edge, session or dataset that is not there
    │   └── Taken                         a name, a place or a state that something else has, which must go first
    ├── JobError                          a batch job that cannot go on: what, where, how to resume
    └── MissingExtra (ImportError)        an optional package, and the extra that installs it
    UnknownTokens (UserWarning)           the model's vocabulary does not know much of a text

Messages name positions and sizes, never the contents of a text, a key or a vector. What would help is told
under a key (:mod:`unabridged.advice`): ``str(error)`` words it for Python, each door for itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.advice import joined, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.types import Fault

__all__ = [
    "AuthFailed",
    "BadReply",
    "BudgetExhausted",
    "Cancelled",
    "CapUnenforceable",
    "ChatError",
    "ConfigError",
    "Conflict",
    "EmbeddingFailed",
    "EmptyText",
    "InputError",
    "JobError",
    "MissingExtra",
    "ModelMismatch",
    "ModelNotFound",
    "NotFound",
    "Overflow",
    "ProviderError",
    "ProviderTimeout",
    "RateLimited",
    "RememberFailed",
    "SegmentFallback",
    "SettingCorrected",
    "StoreError",
    "Taken",
    "UnabridgedError",
    "UnknownScript",
    "UnknownTokens",
    "UnreadableFile",
]


class UnabridgedError(Exception):
    """The root: catch it to catch everything this library raises by itself.

    ``result`` is the finished part of an embedding call that failed for some of its texts; ``calls`` are the
    calls of chat models that were made before something went wrong (SPEC A18: they are kept). ``advice`` is a
    key of :data:`unabridged.advice.PYTHON`: what would help.

    >>> str(NotFound("no snapshot of that name is there", advice="list_snapshots"))
    'no snapshot of that name is there; list them with Memory.snapshots()'
    """

    result: Any = None
    calls: tuple[Any, ...] = ()
    advice: str | None = None

    def __init__(self, *args: object, advice: str | None = None) -> None:
        super().__init__(*args)
        if advice is not None:
            self.advice = advice

    def __str__(self) -> str:
        """What is wrong, and what would help in Python."""
        return joined(said(self), self.advice)


class ConfigError(UnabridgedError, ValueError):
    """A setting is wrong. The message is one line: the path, what was found, what would be right.

    >>> str(ConfigError("embedding.dimensions", "found '768' (a string), expected a whole number"))
    "embedding.dimensions: found '768' (a string), expected a whole number"
    """

    def __init__(self, path: str, problem: str, *, advice: str | None = None) -> None:
        super().__init__(f"{path}: {problem}" if path else problem, advice=advice)
        self.path = path
        self.problem = problem


class InputError(UnabridgedError, ValueError):
    """A text or a file that cannot be taken as it is."""


class EmptyText(InputError):
    """A text is empty or blank, and the policy says that this is an error.

    ``what`` names the one text of a call that takes no other, and has no policy.

    >>> str(EmptyText([0], what="content"))
    'content: is empty or blank; give it at least one character that shows'
    """

    def __init__(self, indices: Sequence[int], *, what: str | None = None) -> None:
        self.indices = tuple(indices)
        if what is not None:
            super().__init__(f"{what}: is empty or blank; give it at least one character that shows")
            return
        one = len(self.indices) == 1
        where = ", ".join(map(str, self.indices[:10])) + (" …" if len(self.indices) > 10 else "")
        super().__init__(
            f"{'text' if one else 'texts'} {where} {'is' if one else 'are'} empty or blank", advice="empty"
        )


class UnknownScript(InputError):
    """The model's vocabulary does not know the script of a text (SPEC L14)."""


class UnreadableFile(InputError):
    """A file cannot be read as text: the path and the reason."""

    def __init__(self, path: object, reason: str, *, advice: str | None = None) -> None:
        super().__init__(f"{path}: {reason}", advice=advice)
        self.path = path
        self.reason = reason


class CapUnenforceable(InputError):
    """One character alone is over the limit, so no cut can help."""


class ProviderError(UnabridgedError):
    """A provider refused, failed, or answered with something that cannot be used.

    ``fault`` says what it means; ``body`` is the reply as it came, for the caller alone
    (it may quote the text, so it never enters the message or a log).
    """

    def __init__(self, message: str, fault: Fault, *, body: object = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.body = body

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts: workers in other processes hand their errors back."""
        return _rebuild, (type(self), str(self), self.fault, self.body)


def _rebuild(kind: type[ProviderError], message: str, fault: Fault, body: object) -> ProviderError:
    return kind(message, fault, body=body)


class Overflow(ProviderError):
    """A text, or a whole request, is over a limit of the provider."""


class RateLimited(ProviderError):
    """Too many requests or tokens, an exhausted quota, or an overloaded server."""


class AuthFailed(ProviderError):
    """The key is missing, wrong, revoked, or not allowed."""


class ModelNotFound(ProviderError):
    """The model's name is not known to the provider."""


class BadReply(ProviderError):
    """The answer cannot be trusted: wrong count, index, width, or values."""


class ProviderTimeout(ProviderError, TimeoutError):
    """No answer within the time allowed."""


class ChatError(UnabridgedError):
    """A model answered, and its answer cannot be used, also not after one attempt at a repair (case 38).

    ``reason`` is ``unreadable``, ``truncated``, ``empty``, ``refused`` (by the model) or ``withheld`` (by its
    provider). ``calls`` are the calls that were made: they cost, and are recorded.
    """

    def __init__(self, message: str, *, reason: str, calls: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.calls = tuple(calls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts: workers in other processes hand their errors back."""
        return _rebuild_chat, (str(self), self.reason, self.calls)


def _rebuild_chat(message: str, reason: str, calls: Sequence[Any]) -> ChatError:
    return ChatError(message, reason=reason, calls=calls)


class BudgetExhausted(UnabridgedError):
    """A text used up its requests (promise 5): states the limit, the attempts and the sizes."""


class EmbeddingFailed(UnabridgedError):
    """Some texts could not be embedded. ``result`` holds every text's outcome, the finished ones too."""

    def __init__(self, message: str, result: Any, *, advice: str | None = None) -> None:
        super().__init__(message, advice=advice)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts, so that the finished part travels between processes."""
        return type(self), (said(self), self.result), {"advice": self.advice}


class ModelMismatch(UnabridgedError):
    """Vectors of two models, or of one that has drifted, would be compared or mixed."""


class Cancelled(UnabridgedError):
    """The caller asked to stop. What was stored by then is whole; the same request with its key goes on from there."""


class RememberFailed(UnabridgedError):
    """A long text failed at one of its chunks; what came before it is stored, and whole (SPEC A13).

    ``chunk`` counts from 0, ``stored`` is how many chunks are, ``artifact_id`` the stored document.
    ``__cause__`` is what went wrong.
    """

    def __init__(
        self, message: str, *, artifact_id: str, chunk: int, chunks: int, stored: int, advice: str | None = None
    ) -> None:
        super().__init__(message, advice=advice)
        self.artifact_id = artifact_id
        self.chunk = chunk
        self.chunks = chunks
        self.stored = stored

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by parts."""
        made = said(self), self.artifact_id, self.chunk, self.chunks, self.stored, self.advice
        return _rebuild_failed, made


def _rebuild_failed(
    message: str, artifact_id: str, chunk: int, chunks: int, stored: int, advice: str | None
) -> RememberFailed:
    return RememberFailed(message, artifact_id=artifact_id, chunk=chunk, chunks=chunks, stored=stored, advice=advice)


class StoreError(UnabridgedError):
    """The memory's store cannot do what was asked, and nothing was changed."""


class Conflict(StoreError):
    """Another writer moved the head first; read again and retry."""


class NotFound(StoreError, LookupError):
    """What was asked for is not in the dataset."""


class Taken(StoreError):
    """Something is in the way that the caller can let go of: a snapshot of that name, one that holds what should go."""


class JobError(UnabridgedError):
    """A batch job cannot go on: what happened, where, and how to resume."""


class MissingExtra(UnabridgedError, ImportError):
    """An optional package is not installed.

    >>> str(MissingExtra("onnxruntime", "local"))
    "onnxruntime is not installed: pip install 'unabridged[local]'"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'unabridged[{extra}]'")
        self.package = package
        self.extra = extra


class UnknownTokens(UserWarning):
    """Much of a text is unknown to the model's vocabulary, so its vector is hollow (SPEC L14)."""


class SegmentFallback(UserWarning):
    """A segmenter could not do as asked and another way was taken; the method says which (SPEC S13)."""


class SettingCorrected(UserWarning):
    """A setting was out of range and has been corrected: from what, to what (SPEC S2)."""
