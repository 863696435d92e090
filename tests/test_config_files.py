"""P1–P5, P7: the shapes of a file, its comments, its variables; the schema and the loader agree."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged import load_config
from unabridged.config import json_schema
from unabridged.config.jsonc import parse, spell
from unabridged.config.names import nearest
from unabridged.config.schema import keys_at, places, types_at
from unabridged.config.sources import EXTENSION
from unabridged.config.variables import references, substitute
from unabridged.errors import ConfigError

MANIFEST = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"


def refused(source, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(source, environ=environ)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None  # no value leaks by a traceback
    return str(caught.value)


# -- JSON with comments ------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


@given(TREES, st.integers(0, 4))
def test_P2_plain_json_is_read_as_json_reads_it(tree, indent) -> None:
    text = json.dumps(tree, indent=indent or None, ensure_ascii=bool(indent % 2))
    assert parse(text, "x").value == json.loads(text)


@given(TREES, st.sampled_from(["// c, ] }\n", "/* , } ] */", "/**/", " ", '// "quoted\n', "/* a\n // b */"]))
def test_P2_comments_and_trailing_commas_change_nothing(tree, comment) -> None:
    text = json.dumps(tree, indent=1)
    # Around every bracket and comma outside of strings, and a comma before every end that has something before it.
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|[][{},]|[^][{},"]+', text)
    made, before = [], ""
    for piece in pieces:
        if piece in "]}" and before not in "[{":
            made.append(",")
        made += [comment, piece, comment] if piece in "[]{}," else [piece]
        before = piece if piece.strip() else before
    assert parse("".join(made), "x").value == tree


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[1,,]", "f.json:1:4"),
        ("[,]", "f.json:1:2"),
        ("{,}", "f.json:1:2"),
        ('{"a": 1,\n "b": }', "f.json:2:7"),
        ('{"a": 1}\n\n// end\n x', "f.json:4:2"),
        ("{\n  /* no end", "f.json:2:3"),
        ('{"a": "no end', "f.json:1:7"),
        ('{"a": tru}', "f.json:1:7"),
        ('{"a": 1 "b": 2}', "f.json:1:9"),
        ("// only a comment", "f.json:1"),
        ("", "f.json:1"),
    ],
)
def test_P2_faults_are_named_by_line_and_column(text, place) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f.json")
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_P2_what_json_has_not_is_refused(text) -> None:
    with pytest.raises(ConfigError):
        parse(text, "f.json")


def test_P2_a_key_that_stands_twice_is_no_riddle() -> None:
    with pytest.raises(ConfigError, match=r"a\.b: stands twice.*line 3"):
        parse('{"a": {"b": 1,\n // again\n "b": 2}}', "f.json")


def test_P2_keys_know_their_lines_in_lists_too() -> None:
    found = parse('{"a":\n[\n{"b": 1},\n{"b":\n[1]}]}', "f.json")
    assert found.lines[("a", 1, "b")] == 4
    assert found.place(("a", 1, "b", 0)) == "f.json, line 5"
    assert found.place(("z",)) == "f.json"
    assert spell(("a", 1, "b c", "d")) == 'a[1]["b c"].d'


# -- variables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${A}", "one"),
        ("x${A}y${B:-two}z", "xoneytwoz"),
        ("${EMPTY:-given}", "given"),
        ("${B:-}", ""),
        ("$${A}", "${A}"),
        ("$$$${A}", "$${A}"),
        ("$$${A}", "$one"),
        ("5 $ and $A", "5 $ and $A"),
        ("${NESTED}", "${A}"),  # what a variable holds is not read again
        ("${A:-unused}", "one"),
    ],
)
def test_P3_variables_defaults_and_escapes(text, value) -> None:
    environ = {"A": "one", "EMPTY": "", "NESTED": "${A}"}
    assert substitute({"k": [text]}, environ).value == {"k": [value]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${NO}", "the variable NO is not set"),
        ("${EMPTY}", "the variable EMPTY is empty"),
        ("${", "opens no variable"),
        ("${}", "opens no variable"),
        ("${1A}", "opens no variable"),
        ("${A:-${B}}", "opens no variable"),
    ],
)
def test_case_47_what_cannot_be_filled_in_is_named(text, problem) -> None:
    found = substitute({"a": {"b": text}}, {"EMPTY": ""})
    assert found.problems[0][0] == ("a", "b")
    assert problem in found.problems[0][1]
    assert found.value == {"a": {"b": text}}


def test_P3_only_our_part_of_a_hosts_file_is_filled_in() -> None:
    host = {"plugins": {"entries": {"other": {"config": {"key": "${NOT_OURS}"}}, "unabridged": {"config": {}}}}}
    load_config(host, environ={})
    assert references("${A}${B:-c}$${D}") == ("A", "B")


def test_P3_all_that_is_wrong_is_said_at_once_in_the_files_order(tmp_path) -> None:
    path = tmp_path / "plugin.json"
    path.write_text('{"embedding": {\n"apiKey": "${K}",\n"modle": "m",\n"timeout": "5",\n"model": "${M}"}}', "utf-8")
    lines = refused(path).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        f"embedding.{key}" for key in ("apiKey", "modle", "timeout", "model")
    ]
    assert [line[-8:] for line in lines] == [f" line {n})" for n in (2, 3, 4, 5)]


# -- where our settings stand ------------------------------------------------------------------------

OURS = {"embedding": {"provider": "hashing", "dimensions": 32}}


@pytest.mark.parametrize(
    "source",
    [
        OURS,
        {"$schema": "urn:unabridged:config:1", **OURS},
        {"plugins": {"entries": {"unabridged": {"config": OURS}}, "slots": {"memory": "x"}}, "gateway": {"port": 1}},
        {"plugins": {"entries": {"memory-lancedb-pro": {"enabled": True, "config": OURS, "hooks": {}}}}},
        {"$schema": MANIFEST, "name": "x", "extensions": {EXTENSION: OURS, "com.example": 3}},
        {"name": "x", "extensions": {EXTENSION: OURS}},
    ],
)
def test_P1_every_shape_is_found(source, tmp_path) -> None:
    path = tmp_path / "plugin.json"
    path.write_text(json.dumps(source), "utf-8")
    for given_as in (source, json.dumps(source), path, str(path), tmp_path):
        assert load_config(given_as).embedding.dimensions == 32


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_P1_every_unicode_encoding_is_read(encoding, tmp_path) -> None:
    path = tmp_path / "ü.json"
    path.write_bytes('{"embedding": {"model": "größe", "provider": "hashing"}}'.encode(encoding))
    assert load_config(path).embedding.model == "größe"


def test_P1_two_entries_the_first_that_is_enabled_counts() -> None:
    entries = {"memory-lancedb-pro": {"config": {"dbPath": "theirs"}}, "unabridged": {"config": {"dbPath": "ours"}}}
    assert load_config({"plugins": {"entries": entries}}).db_path == "ours"
    entries["unabridged"]["enabled"] = False
    assert load_config({"plugins": {"entries": entries}}).db_path == "theirs"
    entries["memory-lancedb-pro"]["enabled"] = False
    assert "unabridged.enabled: false: the plugin is switched off" in refused({"plugins": {"entries": entries}})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"plugins": {"entries": {"else": {}}}}, "plugins.entries: found 'else', expected 'unabridged' or"),
        ({"plugins": {"entries": {}}}, "plugins.entries: found none"),
        ({"plugins": {"entries": {"unabridged": []}}}, "plugins.entries.unabridged: found a list, expected an object"),
        ({"plugins": {"entries": {"unabridged": {"config": 3}}}}, "config: found 3, expected an object"),
        ({"plugins": {}}, "plugins.entries: missing; expected an object"),
        ({"plugins": {"entries": {"unabridged": {"enabled": "no"}}}}, "found 'no' (a string), expected true or false"),
        ({"plugins": {"entries": {"unabridged": {"enabeld": False}}}}, "enabeld: unknown key, did you mean enabled?"),
        (
            {"plugins": {"entries": {"unabridged": {"embedding": {}}}}},
            "belongs under plugins.entries.unabridged.config",
        ),
        ({"enabled": False}, "enabled: false: the plugin is switched off"),
        ({"enabled": "no"}, "enabled: found 'no' (a string), expected true or false"),
        ({"extensions": {EXTENSION: {"enabled": False}}}, f'extensions["{EXTENSION}"].enabled: false'),
        ({"extensions": {"io.github.unabridge": {}}}, "did 'io.github.unabridge' mean it?"),
        ({"$schema": MANIFEST, "extensions": 3}, "extensions: found 3, expected an object"),
        ({"$schema": MANIFEST}, "extensions: missing; expected an object"),
        ({"$schema": MANIFEST, "embedding": {}, "extensions": {}}, "ours live under extensions"),
        ({"$schema": MANIFEST, "licence": "MIT", "extensions": {}}, "did you mean license?"),
        ("[]", "[]: no such file"),
        ("/no/such/plugin.json", "plugin.json: no such file"),
        ("a\0b", "null byte"),
        ("{", "ends too early"),
    ],
)
def test_P1_what_is_not_found_is_said(source, message) -> None:
    assert message in refused(source)


def test_P1_a_file_that_is_not_unicode_is_said(tmp_path) -> None:
    (tmp_path / "plugin.json").write_bytes(b'{"embedding": {"model": "gr\xf6\xdfe"}}')
    assert "not UTF-8 at byte 27" in refused(tmp_path)
    (tmp_path / "plugin.json").write_text("[1]", "utf-8")
    assert "plugin.json: found a list, expected an object" in refused(tmp_path)


# -- the schema --------------------------------------------------------------------------------------

VALUES = (None, True, 0, 1, -1, 7.5, "", "x", "mean", "http://localhost:1/v1", "http://u:p@h/", [], ["k"], [""], {})


def paths() -> list[tuple[str, ...]]:
    return [(*place, key) for place, keys in places().items() for key in keys]


def placed(path: tuple[str, ...], value: object) -> dict:
    tree: object = value
    for step in reversed(path):
        tree = {step: tree}
    return tree  # type: ignore[return-value]


@pytest.mark.parametrize("path", [*paths(), ("embedding", "modell"), ("embedding", "fallbacks", "x"), ("zzz",)])
def test_P5_schema_and_loader_agree(path) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    for value in VALUES:
        tree = placed(path, value)
        if path[-1] == "enabled" and len(path) == 1 and value is False:
            continue  # valid, and refused for what it says
        try:
            load_config(tree, environ={})
        except ConfigError as error:
            loads, why = False, str(error)
        else:
            loads, why = True, ""
        assert loads == validator.is_valid(tree), f"{tree}: {why}"


def test_P5_variables_are_no_fault_to_an_editor() -> None:
    tree = {"embedding": {"apiKey": "${K}", "baseURL": "${URL}", "pooling": "${POOLING}", "onError": "${E:-raise}"}}
    jsonschema.validate(tree, json_schema())
    environ = {"K": "k", "URL": "http://h/v1", "POOLING": "max"}
    assert load_config(tree, environ=environ).embedding.pooling == "max"


SPELLED = {"integer": ("1", 1), "number": ("0.5", 0.5), "boolean": ("true", True)}


def spelled() -> list[tuple[tuple[str, ...], str]]:
    known = {*SPELLED, "null"}
    return [(path, min(types - {"null"})) for path in paths() if (types := types_at(path)) and types <= known]


def read(tree: dict, environ: dict[str, str]) -> object:
    try:
        return load_config(tree, environ=environ).settings
    except ConfigError as error:
        return str(error).replace(" by '${SPELLED}'", "")


def test_P3_a_variable_spells_a_number_or_a_boolean_wherever_one_belongs() -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    for path, kind in spelled():
        text, value = SPELLED[kind]
        written, plain = placed(path, "${SPELLED}"), placed(path, value)
        assert read(written, {"SPELLED": text}) == read(plain, {}), path
        assert validator.is_valid(written) >= validator.is_valid(plain), path
        said = read(written, {"SPELLED": "sk-secret"})
        assert "the variable SPELLED holds 9 characters that are no such value, expected " in str(said)
        assert "sk-secret" not in str(said)


@pytest.mark.parametrize("word", ["true", "YES", "on", "1", " True "])
def test_P3_a_boolean_is_spelled_as_environments_do(word) -> None:
    config = load_config({"embedding": {"normalized": "${N}", "chunking": "${N}"}}, environ={"N": word})
    assert (config.embedding.normalized, config.embedding.chunking) == (True, True)


def test_P3_where_a_folder_may_stand_only_true_and_false_are_booleans() -> None:
    kept = [load_config({"embedding": {"cache": "${C}"}}, environ={"C": c}).embedding.cache for c in ("false", "on")]
    assert kept == [False, "on"]


def test_P3_what_a_variable_spells_is_told_with_file_key_and_variable(tmp_path) -> None:
    file = tmp_path / "plugin.json"
    file.write_text(
        '{\n "embedding": {"dimensions": "${WIDTH}",\n "timeout": "${A}${B}"},\n "server": {"port": "${P}"}}'
    )
    with pytest.raises(ConfigError) as caught:
        load_config(file, environ={"WIDTH": "0", "A": "1", "B": "x", "P": "8o80"})
    no_such = "characters that are no such value, expected"
    assert str(caught.value).splitlines() == [
        "embedding.dimensions: found 0 by '${WIDTH}', expected at least 1 (plugin.json, line 2)",
        f"embedding.timeout: the variables A and B make 2 {no_such} a number (plugin.json, line 3)",
        f"server.port: the variable P holds 4 {no_such} a whole number (plugin.json, line 4)",
    ]


def test_P3_a_variable_without_quotation_marks_is_told_so() -> None:
    said = refused('{"server": {"port": ${PORT}}}')
    assert said == 'the text:1:21: a variable stands in quotation marks, numbers too: "${NAME}"'


def test_P5_every_key_says_what_it_is_for() -> None:
    schema = json_schema()
    for name, definition in schema["$defs"].items():
        if name != "RetrievalSettings":  # the predecessor's own names
            assert all("description" in one for one in definition["properties"].values()), name
    assert keys_at(("embedding", "fallbacks", 0, "headers")) == ()


# -- near misses -------------------------------------------------------------------------------------


@given(st.sampled_from(keys_at(("embedding",))), st.data())
def test_case_46_a_slip_of_the_pen_finds_its_key(key, data) -> None:
    at = data.draw(st.integers(0, len(key) - 1))
    slips = [key[:at] + key[at + 1 :], key[:at] + key[at] * 2 + key[at + 1 :], key.upper(), key.lower()]
    slip = data.draw(st.sampled_from([slip for slip in slips if slip not in keys_at(("embedding",))] or [key.upper()]))
    assert f"did you mean {key}?" in refused({"embedding": {slip: None}})


@pytest.mark.parametrize(
    ("name", "ours"),
    [("maxTokens", "maxChunkSize"), ("chunk_size", "maxChunkSize"), ("overlap", "overlapSize"), ("chunk-overlap", "overlapSize"), ("min_tokens", "minChunkSize")],
)  # fmt: skip
def test_case_46_what_others_call_it_is_told_ours(name, ours) -> None:
    assert f"{name}: unknown key, did you mean {ours}?" in refused({"embedding": {"chunking": {name: 100}}})


@pytest.mark.parametrize("name", ["base_url", "BASE-URL", "baseUrl"])
def test_case_46_other_spellings_find_theirs(name) -> None:
    assert nearest(name, keys_at(("embedding",))) == "baseURL"


def test_case_46_a_key_in_the_wrong_place_is_told_the_right_one() -> None:
    assert "model: unknown key here, did you mean embedding.model?" in refused({"model": "m"})
    assert "known are $schema, enabled, embedding" in refused({"qqqqqq": 1})


@pytest.mark.parametrize(
    "settings",
    [
        {"apiKey": ["sk-secret-1", 5]},
        {"apiKey": {"a": "sk-secret-1"}},
        {"headers": {"x": ["sk-secret-1"]}},
        {"baseURL": "https://user:sk-secret-1@host"},
        {"apikey": "sk-secret-1"},
        {"model": ["sk-secret-1"]},
    ],
)
def test_case_47_no_fault_shows_a_secret(settings) -> None:
    assert "sk-secret" not in refused({"embedding": settings})
