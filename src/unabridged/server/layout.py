"""Where the nodes of a graph are drawn, and where vectors are, in two dimensions (pure, numpy).

A graph settles under three forces: every two nodes repel each other (by the product of their degrees, over
their distance), edges pull like springs, and all fall a little to the middle. The repulsion of all pairs is one
convolution on a grid, by FFT: 5,000 nodes and 10,000 edges take an eighth of a second, 140 steps, and memory does
not grow with the square. Parts that nothing joins are then set around the largest, however far the forces drove
them. The same graph gives the same picture. Places are complex numbers here: x + iy.

Sources: ForceAtlas2 (Jacomy et al. 2014) for the forces, Fruchterman & Reingold (1991) for the cooling.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Points = NDArray[np.float64]
    Places = NDArray[np.complex128]
    Rows = NDArray[np.int64]

__all__ = ["arrange", "project"]

_SEED = 7
# Cells a side of the grid, and steps on it: the whole shape first, then what lies close together. 160 steps on 96
# cells take twice as long, and draw joined nodes no nearer (0.131 of the mean distance of any two, both).
_ROUNDS = ((64, 80), (96, 50), (192, 10))
_GRAVITY = 0.6
_POWER_STEPS = 8  # subspace iterations; the two leading axes of real embeddings settle in four
_SAMPLE = 2000  # vectors by which the axes are found; more of them turn the picture by less than a point


def arrange(count: int, sources: Rows, targets: Rows) -> Points:
    """Positions of shape ``(count, 2)`` in the unit disc, for the edges ``sources[i] - targets[i]``.

    >>> places = arrange(3, np.array([0, 1]), np.array([1, 2]))
    >>> places.shape, bool(np.abs(places).max() <= 1)
    ((3, 2), True)
    """
    if count == 0:
        return np.zeros((0, 2))
    apart = sources != targets
    sources, targets = sources[apart], targets[apart]
    places = _uncrowded(_settled(count, sources, targets))
    return _in_disc(_packed(places, _parts(count, sources, targets)))


def _settled(count: int, sources: Rows, targets: Rows) -> Places:
    mass = np.bincount(np.concatenate((sources, targets)), minlength=count).astype(np.float64) + 1.0
    places = _beginning(count, sources, targets, mass)
    heat, grids = 0.1 * _span(places) + 1e-9, [cells for cells, steps in _ROUNDS for _ in range(steps)]
    for step, cells in enumerate(grids):
        force = (_repulsion(places, mass, cells) + _pull(places, sources, targets)) / mass
        force -= _GRAVITY * places / (np.abs(places) + 1.0)
        places += force * np.minimum(1.0, heat * (1 - step / len(grids)) / (np.abs(force) + 1e-12))
        places -= places.mean()
    return places


def _span(places: Places) -> float:
    return float(max(np.ptp(places.real), np.ptp(places.imag)))


def _summed(at: Rows, values: Places, count: int) -> Places:
    """The sum of the values at each of ``count`` rows."""
    return _place(np.bincount(at, values.real, count), np.bincount(at, values.imag, count))


def _place(x: Any, y: Any) -> Places:
    return np.asarray(x + 1j * y, np.complex128)


def _beginning(count: int, sources: Rows, targets: Rows, mass: Points) -> Places:
    """Each node near its neighbours: noise, smoothed along the edges, spread out evenly by rank."""
    rng = np.random.default_rng(_SEED)
    places = _place(*rng.standard_normal((2, count)))
    into, other = np.concatenate((sources, targets)), np.concatenate((targets, sources))
    for _ in range(24):
        places = 0.5 * (places + _summed(into, places[other], count) / mass)
        places -= places.mean()
        x, y = (axis / (np.linalg.norm(axis) + 1e-12) for axis in (places.real, places.imag))
        places = _place(x, y)
    ranks = [np.argsort(np.argsort(axis)) / max(1, count - 1) - 0.5 for axis in (places.real, places.imag)]
    noise = rng.normal(0, 0.02, (2, count))
    return _place(ranks[0] + noise[0], ranks[1] + noise[1]) * float(4 * np.sqrt(count))


def _pull(places: Places, sources: Rows, targets: Rows) -> Places:
    across = 0.35 * (places[targets] - places[sources])
    return _summed(sources, across, len(places)) - _summed(targets, across, len(places))


def _repulsion(places: Places, mass: Points, cells: int) -> Places:
    """The force of all nodes on each: charges laid on a grid, convolved with d / |d|^2, and read back.

    Laying on and reading back weigh the four corners alike, so that no node moves itself.
    """
    size = _span(places) / (cells - 2) + 1e-9
    corners, weights = _corners(places, size, cells)
    charge = np.bincount(corners.ravel(), (weights * mass).ravel(), minlength=cells * cells)
    shape = (2 * cells, 2 * cells)
    spectrum = np.fft.rfft2(charge.reshape(cells, cells), shape)
    fields = [np.fft.irfft2(spectrum * kernel, shape)[:cells, :cells].ravel() for kernel in _kernels(cells)]
    read = [np.einsum("cn,cn->n", field[corners], weights) for field in fields]
    return np.asarray(_place(*read) * (mass / size), np.complex128)


def _corners(places: Places, size: float, cells: int) -> tuple[Rows, Points]:
    """The four corners of each node's cell as rows of the grid, and how much of the node lies at each."""
    x, y = (places.real - places.real.min()) / size, (places.imag - places.imag.min()) / size
    column, row = x.astype(np.int64), y.astype(np.int64)
    x, y = x - column, y - row
    first = column * cells + row
    corners = np.stack((first, first + 1, first + cells, first + cells + 1))
    return corners, np.stack(((1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y))


@cache
def _kernels(cells: int) -> tuple[Places, Places]:
    """The spectra of x / |d|^2 and y / |d|^2 on a grid of twice the size, so that nothing wraps around."""
    steps = np.fft.fftfreq(2 * cells, 1 / (2 * cells))
    square = steps[:, None] ** 2 + steps[None, :] ** 2
    square[0, 0] = 1.0
    across = np.broadcast_to(steps[:, None], square.shape) / square
    return np.fft.rfft2(across), np.fft.rfft2(across.T)


def _uncrowded(places: Places) -> Places:
    """Nodes that lie on each other moved apart: neighbours in a grid that is shifted each time."""
    count, room = len(places), _room(places)
    rng = np.random.default_rng(_SEED)
    places = places + _place(*rng.normal(0, 1e-6 * (room + 1e-9), (2, count)))
    for _ in range(12):
        cells = (np.floor((axis + rng.random() * room) / (room + 1e-12)) for axis in (places.real, places.imag))
        column, row = (cell.astype(np.int64) - int(cell.min()) for cell in cells)
        key = column * (int(row.max()) + 1) + row
        order = np.argsort(key, kind="stable")
        for reach in range(1, min(6, count)):
            one, other = order[:-reach], order[reach:]
            same = key[one] == key[other]
            one, other = one[same], other[same]
            across = places[other] - places[one]
            length = np.abs(across) + 1e-12
            push = across / length * np.maximum(0.0, room * 0.8 - length) * 0.25
            places[other] += push  # no node stands twice in either, so each is moved once
            places[one] -= push
    return places


def _room(places: Places) -> float:
    """What a node takes for itself, in the places' own measure."""
    return float(0.9 * _span(places) / (np.sqrt(len(places)) * 2 + 1e-9))


def _parts(count: int, sources: Rows, targets: Rows) -> Rows:
    """The number of each node's part: two nodes are in one where edges lead from one to the other.

    Every node takes the least number that it, its neighbours, or what they follow have; doubled each round, so
    that a path of any length takes few (Shiloach & Vishkin 1982).
    """
    follows = np.arange(count)
    while True:
        least = np.minimum(follows[sources], follows[targets])
        after = follows.copy()
        for rows in (sources, targets, follows[sources], follows[targets]):
            np.minimum.at(after, rows, least)
        after = after[after]
        if np.array_equal(after, follows):
            return np.unique(follows, return_inverse=True)[1]
        follows = after


def _packed(places: Places, part: Rows) -> Places:
    """The largest part in the middle, the others in rings around it, each as the forces left it."""
    size = np.bincount(part)
    if len(size) == 1:
        return places
    inside = places - (_summed(part, places, len(size)) / size)[part]
    radius = np.zeros(len(size))
    np.maximum.at(radius, part, np.abs(inside))
    return inside + _rings(radius + 0.8 * _room(inside[part == size.argmax()]), size)[part]


def _rings(radius: Points, size: Rows) -> Places:
    """Where discs of these radii stand: the one of greatest size at 0, then the larger nearer."""
    middle = int(size.argmax())
    rest = [int(at) for at in np.argsort(-radius, kind="stable") if at != middle]
    centres = np.zeros(len(radius), np.complex128)
    edge, begin = float(radius[middle]), 0
    while begin < len(rest):
        out = edge + float(radius[rest[begin]])
        turns = 2 * np.arcsin(np.minimum(1.0, radius[rest[begin:]] / out))
        fit = max(1, int(np.searchsorted(np.cumsum(turns), 2 * np.pi)))
        angles = np.cumsum(turns[:fit]) - turns[:fit] / 2
        angles *= 2 * np.pi / max(float(turns[:fit].sum()), np.pi)  # a ring that is not full is spread out
        centres[rest[begin : begin + fit]] = out * np.exp(1j * (angles + begin))
        edge, begin = out + float(radius[rest[begin]]), begin + fit
    return centres


def _in_disc(places: Places) -> Points:
    places = places - _place((places.real.max() + places.real.min()) / 2, (places.imag.max() + places.imag.min()) / 2)
    places /= np.abs(places).max() + 1e-12
    return np.stack((places.real, places.imag), axis=1)


def project(vectors: NDArray[np.float32], method: str = "pca") -> tuple[Points, float]:
    """Vectors of shape ``(n, width)`` as points ``(n, 2)``, and the share (0 … 1) of their variance that is shown.

    ``pca`` takes the two axes along which they differ most (subspace iteration over an even sample: no square
    matrix of the width is made), ``random`` two random directions, which keep distances on average and nothing else.

    >>> points, share = project(np.array([[0, 1, 0], [0, -1, 0], [0, 3, 0]], np.float32))
    >>> points.shape, round(share, 3)
    ((3, 2), 1.0)
    """
    centred = np.asarray(vectors - np.mean(vectors, axis=0, dtype=np.float64), np.float32)
    axes = np.random.default_rng(_SEED).standard_normal((centred.shape[1], 8)).astype(np.float32)
    axes = np.linalg.qr(axes)[0]
    if method == "pca":
        sample = centred[:: -(-len(centred) // _SAMPLE)]
        for _ in range(_POWER_STEPS):
            axes = np.linalg.qr(sample.T @ (sample @ axes))[0]
        seen = sample @ axes
        axes = axes @ np.linalg.eigh(seen.T @ seen)[1][:, ::-1]
    points = np.asarray(centred @ axes[:, :2], np.float64)
    points = np.pad(points, ((0, 0), (0, max(0, 2 - points.shape[1]))))
    total = float(np.square(centred).sum(dtype=np.float64))
    return points, float(np.square(points).sum()) / total if total > 0 else 1.0
