"""Every command and option with wrong values: what a newcomer reads names the option, what was found, what is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from unabridged.cli.app import app, run
from unabridged.cli.naming import by_option, option_of

# What only a developer understands: names of arguments, classes, calls, numbers of the operating system.
_FOREIGN = re.compile(r"\b[a-z]+_[a-z_]+\b|\b[A-Z]\w+(Error|Failed|File)\b|\w\(\)|Input should|Errno|Traceback|None\b")
_WRONG = {int: ["x", "1.5", ""], float: ["x", ""]}


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("UNABRIDGED_CONFIG", "UNABRIDGED_MEMORY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("UNABRIDGED_CACHE", "XDG_DATA_HOME", "UNABRIDGED_JOBS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    Path("a.txt").write_text("Alice works at Acme.", "utf-8")


def commands(command: Any = None, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    command = typer.main.get_command(app) if command is None else command
    inner = [each for name, one in getattr(command, "commands", {}).items() for each in commands(one, (*path, name))]
    return [*inner, (path, command)] if path else inner


def wrong() -> list[tuple[tuple[str, ...], str, str]]:
    """Each option that takes a number or one of several words, with what it does not take."""
    found = []
    for path, command in commands():
        for param in command.params:
            kind = getattr(param, "type_descriptor", None)
            values = _WRONG.get(kind.annotation, ["zzz"] if "Literal" in str(kind.annotation) else []) if kind else []
            found += [(path, param.opts[0], value) for value in values if param.param_type_name == "option"]
    return found


def told(capsys, *args: str) -> tuple[int, str]:
    code = run(list(args))
    return code, capsys.readouterr().err


def test_a_value_of_the_wrong_kind_is_told_by_its_option(capsys) -> None:
    cases = wrong()
    assert len(cases) > 100
    for path, option, value in cases:
        code, said = told(capsys, *path, option, value)
        assert code == 2, (path, option, said)
        assert said.startswith(f"error: {option}: found {value!r}, expected "), said
        assert said.endswith(f"; see 'unabridged {' '.join(path)} --help'\n"), said
        assert not _FOREIGN.search(said), said


M = ["--model", "hashing"]
MEMORY = ["--memory", "m", *M]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["embed", "a.txt", "--model", "zzz"], "--model: the model 'zzz' is not known; name its provider, as in openai"),
        (["embed", "a.txt", "--model", "openai/m"], "--model: openai needs a key: set OPENAI_API_KEY; or put apiKey into"),
        (["embed", "a.txt", "--base-url", "zzz"], "--base-url: found a string of 3 characters, expected http"),
        (["embed", "a.txt", *M, "--max-tokens", "5", "--overlap-tokens", "9"], "--overlap-tokens: found 9, expected less than --max-tokens (5)"),
        (["embed", "a.txt", *M, "--overlap-tokens", "99999"], "--overlap-tokens: found 99999, expected less than --max-tokens"),
        (["embed", "a.txt", *M, "--method", "zzz"], "--method: found 'zzz', known are contextual, fixed"),
        (["embed", "a.txt", *M, "--encoding", "zzz"], "--encoding: found 'zzz', expected one such as utf-8"),
        (["embed", "a.txt", *M, "--dimensions", "9" * 20], "--dimensions: found '99999999999999999999', expected at most"),
        (["embed", "a.txt", "--config", "nowhere"], "nowhere: no such file or directory; expected a plugin JSON"),
        (["embed", "a.txt", "--config", ""], "configuration: found an empty name, expected a plugin JSON"),
        (["embed", "a.txt", "--config", "a.txt"], "a.txt:1:1: not JSON: a configuration begins with a brace"),
        (["embed", *M], "PATH: nothing to read: name a file, a folder, a pattern, - or --text TEXT"),
        (["chunk", "a.txt", "--method", "zzz"], "--method: found 'zzz', known are"),
        (["chunk", "a.txt", "--compare", "zzz"], "--compare: found 'zzz', known are"),
        (["chunk", "a.txt", "--tokenizer", "zzz"], "--tokenizer: 'zzz' is not known"),
        (["chunk", "a.txt", "--plot", "no/x.svg"], "--plot: found 'no/x.svg', expected a file in a folder that is there"),
        (["models", "zzz"], "NAME: 'zzz' is not in the table"),
        (["cache", "stats", "--folder", "nowhere"], "--folder: found 'nowhere', expected a folder that is there"),
        (["remember", "two words", *MEMORY, "--kind", "zzz"], "--kind: not one of knowledge, memory"),
        (["remember", "a.txt", *MEMORY, "--kind", "zzz"], "--kind: not one of knowledge, memory"),
        (["remember", "a.txt", *MEMORY, "--valid-at", "soon"], "--valid-at: not a moment in ISO 8601, such as 2024"),
        (["remember", "two words", *MEMORY, "--session", " "], "--session: is empty"),
        (["remember", "two words", *MEMORY, "--max-tokens", "9" * 9], "--max-tokens: found 999999999, expected a whole num"),
        (["remember", "two words", *MEMORY, "--chat", ""], "--chat: found nothing, expected the name of a chat model"),
        (["remember", "two words", "--memory", "a.txt", *M], "--memory: found a file, expected a folder"),
        (["pending", *MEMORY], "no chat model is given: --chat MODEL, or a file of --config with the section chat"),
        (["recall", "Alice", *MEMORY], "m: no such folder; `unabridged memory init` makes one, and"),
        (["remember", "nope.md", *MEMORY], "nope.md: no such file or folder; a text of one word is given through stdin"),
        (["recall", "one", "two"], "found more than is taken: two; words in quotes are one; see 'unabridged recall"),
        (["recall", "--limit", "3"], "QUERY: found nothing, expected what to look for; see 'unabridged recall --help'"),
        (["recall", "x", "--limits", "3"], "there is no option --limits, did you mean --limit?; see 'unabridged recall"),
        (["embd"], "there is no command embd, did you mean embed?; see 'unabridged --help'"),
        (["embed", "a.txt", "-o"], "-o: found nothing, expected a value; see 'unabridged embed --help'"),
        (["job", "run", "a.txt", *M, "-o", "j.parquet", "--max-cost", "1"], "--max-cost: "),
        (["job", "run", "a.txt", *M, "-o", "j.parquet", "--text-column", "zzz"], "--text-column: found 'zzz', "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_the_option_that_was_given(capsys, args, said) -> None:
    code, err = told(capsys, *args)
    assert code == 2, err
    assert err.startswith(f"error: {said}"), err
    assert not _FOREIGN.search(err), err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--as-of", "soon"], "--as-of: not a moment in ISO 8601"),
        (["--known-at", "soon"], "--known-at: not a moment in ISO 8601"),
        (["--kind", "zzz"], "--kind: found 'zzz', expected one of knowledge, memory"),
        (["--kinds", "zzz"], "--kinds: found 'zzz', expected some of passage, summary"),
        (["--lane", "zzz"], "--lane: found 'zzz', expected some of vector, text"),
        (["--metadata", "zzz"], "--metadata: expected KEY=VALUE, such as user=alice"),
        (["--dataset", "zzz"], "no dataset 'zzz' is in m; `unabridged memory list datasets --memory m` shows those"),
        (["--dataset", " "], "--dataset: is empty"),
    ],
)
def test_what_a_recall_and_a_query_refuse_is_told_alike(capsys, args, said) -> None:
    assert run(["remember", "Alice works at Acme.", *MEMORY, "-q"]) == 0
    capsys.readouterr()
    for command in ("recall", "query"):
        code, err = told(capsys, command, "Where does Alice work?", *MEMORY, *args)
        assert code == 2, err
        assert err.startswith(f"error: {said}"), err


def test_what_stands_in_a_file_is_told_by_the_file(capsys) -> None:
    Path("p.json").write_text('{"embedding": {"provider": "hashing",\n"dimensions": "wide"}}', "utf-8")
    code, err = told(capsys, "embed", "a.txt", "--config", "p.json", "--dimensions", "8")
    assert (code, err) == (
        2,
        "error: embedding.dimensions: found 'wide' (a string), expected a whole number (p.json, line 2)\n",
    )
    Path("p.json").write_text('{"embedding": {"provider": "ollama",\n"model": "m"}}', "utf-8")
    code, err = told(capsys, "embed", "a.txt", "--config", "p.json", "--model", "zzz")
    assert err.startswith("error: --model: the model 'zzz' is not known; ")


def test_a_name_that_nobody_gave_here_stays() -> None:
    command = typer.main.get_command(app)
    assert by_option("as_of: not a moment", command, ["recall", "x"]) == "as_of: not a moment"
    assert by_option("no dataset is here", command, ["recall", "x"]) == "no dataset is here"
    assert option_of("include_history") == "--history"


def test_a_value_without_an_end_is_cut(capsys) -> None:
    code, err = told(capsys, "chunk", "a.txt", "--method", "x" * 4000)
    assert (code, len(err) < 400) == (2, True)


def test_every_segmenter_stands_in_the_help_of_chunk() -> None:
    from unabridged.text.segmenters import segmenters

    (method,) = [
        param for path, one in commands() if path == ("chunk",) for param in one.params if param.name == "method"
    ]
    assert all(re.search(rf"\b{each.name}\b", method.help) for each in segmenters())


def test_every_command_says_what_it_does_and_every_option_what_it_is_for() -> None:
    for path, command in commands():
        assert (command.help or "").strip(), path
        for param in command.params:
            assert param.help, (path, param.name)


def test_an_option_means_the_same_everywhere() -> None:
    """One spelling for one thing: a short letter stands for one long name, but for the few that are older."""
    known: dict[str, set[str]] = {}
    for _, command in commands():
        for param in command.params:
            longs = [name for name in param.opts if name.startswith("--")]
            for short in (name for name in param.opts if not name.startswith("--")):
                known.setdefault(short, set()).update(longs[:1])
    doubled = {short: names for short, names in known.items() if len(names) > 1 and short.startswith("-")}
    assert doubled == {"-d": {"--dataset", "--dimensions"}, "-f": {"--force", "--format"}}
