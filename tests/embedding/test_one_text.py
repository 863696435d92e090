"""One text and a list of one are the same call; what is given is told apart from what was meant."""

from __future__ import annotations

import pytest

from unabridged import Chunking, Embedder, embed, wrap
from unabridged.errors import ConfigError, EmptyText, InputError

BLANK = ["", " \n", "\u3000"]


def hashing(**options) -> Embedder:
    return Embedder("hashing", cache=False, **options)


async def _every_way(embedder: Embedder, texts):
    yield lambda: embedder.embed(texts)
    yield lambda: embedder.embed_query(texts)
    for made in (embedder.aembed, embedder.aembed_query):
        try:
            rows = await made(texts)
        except EmptyText as error:
            caught = error

            def again(caught=caught):
                raise caught

            yield again
        else:
            yield lambda rows=rows: rows


@pytest.mark.parametrize("text", BLANK)
async def test_L8_a_policy_that_is_given_holds_for_a_blank_text_alone(text) -> None:
    async for way in _every_way(hashing(empty="error"), text):
        with pytest.raises(EmptyText, match="text 0 is empty or blank"):
            way()
    async for way in _every_way(hashing(empty="zero"), text):
        assert way().shape == (256,)
        assert not way().any()
    async for way in _every_way(hashing(empty="skip"), text):
        assert way().shape == (0,)


@pytest.mark.parametrize("policy", ["error", "skip", "zero"])
@pytest.mark.parametrize("text", BLANK)
async def test_L8_alone_or_in_a_list_of_one_the_outcome_is_one(text, policy) -> None:
    embedder = hashing(empty=policy, on_error="report")
    alone, listed = embedder.embed_detailed(text), embedder.embed_detailed([text])
    later = await embedder.aembed_detailed(text)
    assert alone[0].status == listed[0].status == later[0].status
    assert str(alone[0].error) == str(listed[0].error) == str(later[0].error)
    assert alone.vectors.tobytes() == listed.vectors.tobytes() == later.vectors.tobytes()
    assert alone.vectors.shape == listed.vectors.shape


async def test_L8_without_a_policy_a_blank_text_alone_is_an_empty_result_and_one_in_a_list_an_error() -> None:
    async for way in _every_way(hashing(), ""):
        assert way().shape == (0,)
    async for way in _every_way(hashing(), [""]):
        with pytest.raises(EmptyText):
            way()


@pytest.mark.parametrize("name", ["min_tokens", "max_tokens", "overlap_tokens", "method"])
def test_a_number_of_the_cutting_says_where_it_goes(name) -> None:
    said = rf"{name}: not known here: it says how to cut: chunking=Chunking\({name}=…\)"
    with pytest.raises(ConfigError, match=f"^{said}"):
        Embedder("hashing", cache=False, **{name: 50})
    with pytest.raises(ConfigError, match=f"^{said}"):
        embed("text", "hashing", cache=False, **{name: 50})
    with pytest.raises(ConfigError, match=rf"^wrap\.{said}"):
        wrap(lambda texts: [[1.0] for _ in texts], **{name: 50})
    assert hashing(chunking=Chunking(min_tokens=50)).cutting.minimum == 50


def test_an_option_that_is_misspelt_or_not_there_is_told() -> None:
    with pytest.raises(ConfigError, match=r"^poling: not known; did you mean 'pooling'"):
        Embedder("hashing", poling="max")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"^zzz: not known; known are cache, chunking, "):
        Embedder("hashing", zzz=1)  # type: ignore[call-arg]


def test_a_mapping_is_no_list_of_texts() -> None:
    with pytest.raises(InputError, match="found a dict, expected a text or a list of texts, such as its values"):
        hashing().embed({"a": "text"})
    assert hashing().embed({"a": "text"}.values()).shape == (1, 256)
