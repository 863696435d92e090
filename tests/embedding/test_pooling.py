"""L4, cases 9–11: chunk vectors -> one vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged import Embedder, Limit
from unabridged.embedding.pooling import are_unit, check_pooling, dispersion, pool
from unabridged.errors import ConfigError
from unabridged.text.sections import group_chunks


def unit(rows: int, width: int, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((rows, width))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def test_case_9_orthogonal_unit_vectors_pool_to_unit_length() -> None:
    pooled = pool(np.eye(2, dtype=np.float32), [1, 1])
    assert np.linalg.norm(pooled) == pytest.approx(1.0, abs=1e-6)
    assert pooled.dtype == np.float32


def test_case_10_a_tail_weighs_by_its_tokens() -> None:
    rows = np.eye(3, dtype=np.float32)
    pooled = pool(rows, [5694, 5694, 993])
    assert pooled[2] / pooled[0] == pytest.approx(993 / 5694, rel=1e-5)
    assert pool(rows, [5694, 5694, 993], "mean")[2] == pytest.approx(1 / np.sqrt(3), rel=1e-5)


def test_L4_vectors_that_are_not_unit_keep_their_length() -> None:
    rows = np.array([[2, 0], [0, 4]], np.float32)
    assert pool(rows, [1, 1], "mean").tolist() == [1.0, 2.0]
    assert pool(rows, [3, 1], "weighted").tolist() == [1.5, 1.0]
    assert pool(rows, [1, 1], "max").tolist() == [2.0, 4.0]
    assert pool(rows, [1, 1], "first").tolist() == [2.0, 0.0]


@given(st.integers(1, 2**31), st.sampled_from(["weighted", "mean", "max", "first"]))
def test_promise_3_one_chunk_comes_back_bit_for_bit(seed: int, how: str) -> None:
    row = np.random.default_rng(seed).standard_normal((1, 7)).astype(np.float32)
    assert pool(row, [3], check_pooling(how)).tobytes() == row[0].tobytes()


@given(st.integers(2, 12), st.integers(1, 2**31))
def test_unit_vectors_stay_unit_and_order_does_not_matter(count: int, seed: int) -> None:
    rows, weights = unit(count, 16, seed), list(range(1, count + 1))
    pooled = pool(rows, weights)
    assert np.linalg.norm(pooled) == pytest.approx(1.0, abs=1e-5)
    assert np.allclose(pooled, pool(rows[::-1], weights[::-1]), atol=1e-6)


def test_vectors_that_cancel_out_leave_the_heaviest_one() -> None:
    rows = np.array([[1, 0], [-1, 0]], np.float32)
    assert pool(rows, [2, 2]).tolist() == [1.0, 0.0]
    assert pool(rows, [0, 0]).tolist() == [1.0, 0.0]


def test_L12_dispersion_is_the_mean_pairwise_cosine() -> None:
    rows = unit(9, 5) * np.arange(1, 10, dtype=np.float32)[:, None]
    cosines = [float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for i, a in enumerate(rows) for b in rows[i + 1 :]]
    assert dispersion(rows) == pytest.approx(np.mean(cosines), abs=1e-6)
    assert dispersion(rows[:1]) is None


def test_unit_is_told_within_the_precision_of_models() -> None:
    rows = unit(4, 300)
    assert are_unit(rows.astype(np.float16).astype(np.float32))
    assert not are_unit(rows * np.float32(1.1))


def test_an_unknown_pooling_lists_those_there_are() -> None:
    with pytest.raises(ConfigError, match="pooling: found 'median', expected one of weighted, mean"):
        check_pooling("median")


def test_L11_hierarchical_pooling_goes_by_sections() -> None:
    text = "# Salt\n\n" + "brine and foam. " * 400 + "\n\n# Sand\n\n" + "dune and glass. " * 100
    with Embedder("hashing", cache=False, pooling="hierarchical", limit=Limit(input_tokens=200)) as embedder:
        one = embedder.embed_detailed(text, chunk_vectors=True)[0]
    salt, sand = one.sections
    assert (salt.title, sand.title, sand.end) == ("Salt", "Sand", len(text))
    assert text[sand.start :].startswith("# Sand")
    assert np.linalg.norm(salt.vector) == pytest.approx(1, abs=1e-5)
    shares = [section.weight for section in group_chunks(text, one.chunks)]
    expected = shares[0] * salt.vector + shares[1] * sand.vector
    assert one.vector @ expected / np.linalg.norm(expected) == pytest.approx(1, abs=1e-5)


def test_L11_sections_need_chunk_vectors_and_a_text_that_was_cut() -> None:
    with Embedder("hashing", cache=False) as embedder:
        assert embedder.embed_detailed("short", chunk_vectors=True)[0].sections == ()
        assert embedder.embed_detailed("long " * 9000)[0].sections == ()
