"""Where nodes and vectors are drawn: pure arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from unabridged.server.layout import _parts, arrange, project


def _two_rings(size):
    one = np.arange(size)
    ring = np.stack((one, (one + 1) % size))
    return np.concatenate((ring, ring + size), axis=1)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 300])
def test_every_node_has_a_place_in_the_disc(count):
    ends = np.stack((np.arange(max(0, count - 1)), np.arange(1, max(1, count))))
    places = arrange(count, *ends)
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert (np.linalg.norm(places, axis=1) <= 1 + 1e-9).all()


def test_what_is_joined_lies_nearer_than_what_is_not():
    ends = _two_rings(60)
    places = arrange(120, *ends)
    joined = np.linalg.norm(places[ends[0]] - places[ends[1]], axis=1).mean()
    across = np.linalg.norm(places[:60].mean(axis=0) - places[60:].mean(axis=0))
    assert joined < 0.35
    assert across > joined


def test_no_two_nodes_lie_on_each_other_and_the_picture_stays_the_same():
    count = 400
    star = np.stack((np.zeros(count - 1, int), np.arange(1, count)))
    places = arrange(count, *star)
    again = arrange(count, *star)
    assert np.array_equal(places, again)
    far = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(count, 1)]
    assert far.min() > 1e-4


def test_loose_parts_stand_around_the_whole_and_do_not_squeeze_it():
    ring = np.stack((np.arange(200), (np.arange(200) + 1) % 200))
    pairs = np.arange(200, 240).reshape(2, -1)
    places = arrange(300, *np.concatenate((ring, pairs), axis=1))  # 200 in a ring, 20 pairs, 60 alone
    whole, others = places[:200], places[200:]
    middle = whole.mean(axis=0)
    assert np.linalg.norm(whole - middle, axis=1).max() < np.linalg.norm(others - middle, axis=1).min()
    assert np.linalg.norm(whole - middle, axis=1).max() > 0.5  # most of the picture is the whole's
    assert np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1).max() < 0.2
    assert np.ptp(places, axis=0).min() > 1.4  # it fills the square around the disc


def test_parts_are_found_along_a_path_of_any_length():
    count = 5000
    order = np.random.default_rng(5).permutation(count)
    part = _parts(count + 3, order[:-1], order[1:])
    assert len(np.unique(part)) == 4
    assert len(np.unique(part[:count])) == 1


def test_loops_and_twins_pull_nothing_apart():
    places = arrange(3, np.array([0, 1, 1]), np.array([0, 2, 2]))
    assert np.isfinite(places).all()


def test_principal_axes_are_those_of_numpy():
    rng = np.random.default_rng(3)
    vectors = (rng.standard_normal((500, 40)) * np.linspace(3, 0.1, 40)).astype(np.float32)
    points, share = project(vectors)
    centred = vectors - vectors.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    assert share == pytest.approx(values[:2].sum() / values.sum(), rel=1e-3)
    assert np.square(points).sum(axis=0) == pytest.approx(values[:2], rel=1e-2)


def test_axes_out_of_a_sample_show_as_much_as_those_out_of_all():
    rng = np.random.default_rng(4)
    vectors = (rng.standard_normal((9000, 48)) / np.arange(1, 49)).astype(np.float32)
    _, share = project(vectors)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    assert share == pytest.approx(values[:2].sum() / values.sum(), rel=0.02)


@pytest.mark.parametrize("method", ["pca", "random"])
@pytest.mark.parametrize("shape", [(1, 8), (5, 1), (4, 3), (2, 2)])
def test_few_vectors_and_narrow_ones_are_points_too(method, shape):
    points, share = project(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), method)
    assert points.shape == (shape[0], 2)
    assert np.isfinite(points).all()
    assert 0 <= share <= 1 + 1e-9


def test_equal_vectors_are_one_point():
    points, share = project(np.ones((6, 5), np.float32))
    assert np.abs(points).max() == 0
    assert share == 1.0
