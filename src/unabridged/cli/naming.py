"""What is wrong with a command line, by its own options: a value that the library calls ``valid_at`` is ``--valid-at``.

The library names its arguments, a configuration its keys, pydantic its types. Whoever typed an option is told of
that option: the name at the beginning of a message is looked up among those that were given on this command line.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["by_option", "misused", "option_of"]

# What the library or a configuration calls it -> the parameter of a command, where that is called otherwise.
_CALLED = {
    "api_key": ("model",),
    "base_url": ("chat_url", "base_url"),
    "chunking.overlap_percent": ("overlap",),
    "chunking.size": ("max_tokens", "size"),
    "datasets": ("dataset",),
    "embedding.apiKey": ("model",),
    "embedding.chunking.maxChunkSize": ("max_tokens",),
    "embedding.chunking.method": ("method",),
    "embedding.chunking.overlapSize": ("overlap_tokens",),
    "embedding.baseURL": ("base_url",),
    "embedding.dimensions": ("dimensions",),
    "embedding.model": ("model",),
    "embedding.provider": ("model",),
    "embedding.timeout": ("timeout",),
    "idempotency_key": ("key",),
    "include_expired": ("expired",),
    "include_history": ("history",),
    "lanes": ("lane",),
    "method": ("method", "compare"),
    "model": ("model", "chat"),
    "overlap_percent": ("overlap",),
    "provider": ("model",),
    "scopes": ("scope",),
    "server.host": ("host",),
    "server.keysFile": ("keys_file",),
    "server.port": ("port",),
    "session_id": ("session",),
    "sink.column": ("column",),
    "sink.format": ("sink_format",),
    "sink.target": ("output",),
    "slice": ("span",),
    "snapshot name": ("name",),
    "source.encoding": ("encoding",),
    "source.format": ("source_format",),
    "source.hidden": ("hidden",),
    "source.id": ("id_column",),
    "source.ignore": ("ignore",),
    "source.keep": ("keep",),
    "source.text": ("text_column",),
    "the memory's place": ("uri", "memory"),
    "type": ("type_",),
    "uri": ("uri", "memory"),
}
_NAME = re.compile(r"(?:snapshot name|the memory's place|[A-Za-z_]\w*(?:\.\w+)*)(?=(?:\[[^\]]*\])?: )")
# Keys of a configuration that a sentence may speak of.
_KEYS = {
    "baseURL": "base_url",
    "maxChunkSize": "max_tokens",
    "minChunkSize": "min_tokens",
    "overlapSize": "overlap_tokens",
}
_PLACE = re.compile(r"\(.+, line \d+\)")  # of a file: who wrote that is told of its keys
# What typer and pydantic say, and what we say.
_BOUNDS = (
    (r"Input should be a valid integer.*", "a whole number"),
    (r"Input should be a (?:valid|finite) number.*", "a number"),
    (r"Input should be greater than or equal to (.*)", r"at least \1"),
    (r"Input should be less than or equal to (.*)", r"at most \1"),
    (r".*is not one of (.*?)\.?", r"one of \1"),
)
_MISUSES = (
    (r"No such option: (\S+)(?: \(Possible options: (.*)\))?", r"there is no option \1", r", did you mean \2?"),
    (r"Option '(\S+)' requires an argument", r"\1: found nothing, expected a value", ""),
    (r"Got unexpected extra argument\(s\) \((.*)\)", r"found more than is taken: \1; words in quotes are one", ""),
    (r"No such command '(.*?)'\.?(?: Did you mean '?(.*?)'?\??)?", r"there is no command \1", r", did you mean \2?"),
)


def option_of(name: str) -> str:
    """The option that gives a value of the library.

    >>> option_of("session_id"), option_of("valid_at")
    ('--session', '--valid-at')
    """
    return "--" + _CALLED.get(name, (name,))[0].replace("_", "-")


def by_option(message: str, command: Any, args: Sequence[str]) -> str:
    """A message, with the option or the argument that it is about in the place of the library's name for it.

    ``command`` is the program's, ``args`` what it was called with. A name that nobody gave here stays.
    """
    found = _NAME.match(message)
    if found is None or _PLACE.search(message):
        return message
    names = _CALLED.get(found[0], (found[0],))
    called, _, rest = _called(command, args)
    given = dict(_given(called, rest))
    option = next((given[name] for name in names if name in given), None)
    if option is None:
        return message
    inside = {name: option for name, option in given.items() if "_" in name}
    known = {param.name: _label(param) for param in called.params}
    inside |= {key: known[name] for key, name in _KEYS.items() if name in known}
    told = re.sub(r"\w+", lambda word: inside.get(word[0], word[0]), message[found.end() :])
    return f"{option}{told}"


def misused(error: Any, command: Any, args: Sequence[str]) -> str:
    """What typer says of a command line, in our words: the option, what was found, what would be right."""
    called, path, rest = _called(command, args)
    return f"{_misuse(error, called, rest)}; see '{path} --help'"


def _misuse(error: Any, called: Any, args: Sequence[str]) -> str:
    param, said = getattr(error, "param", None), str(error.message)
    if type(error).__name__ == "MissingParameter" and param is not None:
        told = (param.help or "a value").rstrip(".")
        return f"{_label(param)}: found nothing, expected {told[0].lower()}{told[1:]}"
    if param is not None:
        expected = next((found.expand(words) for p, words in _BOUNDS if (found := re.fullmatch(p, said))), None)
        if expected is not None:
            option = dict(_given(called, args)).get(param.name, _label(param))
            value = _value(param, args)
            return f"{option}: {'' if value is None else f'found {value!r}, '}expected {expected.replace(chr(39), '')}"
    said = str(error.format_message()).rstrip(".")
    for pattern, words, more in _MISUSES:
        if found := re.fullmatch(pattern, said):
            meant = found.expand(more).replace(", -", " or -") if more and found[2] else ""
            return f"{found.expand(words)}{meant}"
    return said


def _called(command: Any, args: Sequence[str]) -> tuple[Any, str, list[str]]:
    """The command that was called, what it is called, and what it was called with."""
    rest, path = list(args), "unabridged"
    while hasattr(command, "commands"):
        at = next((at for at, word in enumerate(rest) if word in command.commands), None)
        if at is None:
            break
        path = f"{path} {rest[at]}"
        command, rest = command.commands[rest[at]], rest[at + 1 :]
    return command, path, rest


def _given(command: Any, args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The parameters of a command: those given as they were spelled, or by their variable; its arguments always."""
    for param in command.params:
        if param.param_type_name == "argument":
            yield param.name, _label(param)
            continue
        spelled = next((name for name in (*param.opts, *param.secondary_opts) if _spells(name, args)), None)
        if spelled is not None:
            yield param.name, spelled if spelled.startswith("--") else _label(param)
        elif isinstance(param.envvar, str) and os.environ.get(param.envvar):
            yield param.name, param.envvar


def _spells(name: str, args: Sequence[str]) -> bool:
    return any(word == name or word.startswith(f"{name}=") for word in args)


def _label(param: Any) -> str:
    """An option by its long name, an argument in capitals."""
    if param.param_type_name == "argument":
        return str(param.name).upper()
    return next((name for name in param.opts if name.startswith("--")), param.opts[0])


def _value(param: Any, args: Sequence[str]) -> str | None:
    """What was given for an option, the last time."""
    for at in range(len(args) - 1, -1, -1):
        name, equals, value = args[at].partition("=")
        if name in param.opts:
            return value if equals else args[at + 1] if at + 1 < len(args) else None
    return None
