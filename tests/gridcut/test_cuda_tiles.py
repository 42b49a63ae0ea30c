"""The parts of `tiles` against plain NumPy, and whole solves of one or two tiles; in numba's simulator."""

import numpy as np
import pytest

import gridcut
from gridcut.core.grid import make_layout
from gridcut.cuda.tile_layout import make_tile_layout, to_flat
from tests.gridcut import oracles
from tests.gridcut.tile_arrays import from_flat

pytestmark = pytest.mark.sim

NEIGHBOURHOODS = [4, 8, 26]


def layout_of(connectivity, shape=None):
    """Tiles for a grid of this shape (default: one tile), and the flat layout of the same grid."""
    flat = connectivity in (4, 8)
    shape = shape or ((32, 32) if flat else (4, 8, 32))
    layout = make_layout(shape, gridcut.neighbourhood(connectivity))
    if not flat and len(layout.offsets) < connectivity:
        raise ValueError("the grid is too small for some arcs")
    return make_tile_layout(1, shape, layout.offsets), layout


def neighbours(extent, offset):
    """Slices of the pixels that have a neighbour there, and of those neighbours."""
    here = tuple(slice(max(0, -o), d - max(0, o)) for o, d in zip(offset, extent, strict=True))
    unreachable = tuple(slice(max(0, o), d - max(0, -o)) for o, d in zip(offset, extent, strict=True))
    return here, unreachable


def distances(start, open_arcs, offsets, unreachable):
    """The lowest levels: level(p) = min(start(p), 1 + minimum of level(q) over open arcs p -> q)."""
    level = start.astype(np.int64)
    before = None
    while before is None or (level != before).any():
        before = level.copy()
        for k, offset in enumerate(offsets):
            p, q = neighbours(start.shape, offset)
            level[p] = np.where(open_arcs[k][p], np.minimum(level[p], level[q] + 1), level[p])
    return np.minimum(level, unreachable)


def bits_of(rows):
    """Rows of 32 booleans as words."""
    return (rows.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=-1).astype(np.uint32)


def outside(shape, offset):
    """The pixels whose arc leaves the grid."""
    inside = np.zeros(shape, bool)
    inside[neighbours(shape, offset)[0]] = True
    return ~inside


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("connectivity", NEIGHBOURHOODS)
def test_search_of_one_tile(connectivity, seed):
    """Random arcs, sinks and offers from outside: levels and reached pixels equal those of a plain search."""
    from gridcut.device.cuda import cuda, cuda_kernel
    from gridcut.tiles.tile_search import LEVEL_WORDS, PITCH, UNREACHABLE, search, search_words

    tiled, _ = layout_of(connectivity)
    tile, arcs, offsets = tiled.tile, tiled.arcs, np.array(tiled.offsets, np.int32)
    rng = np.random.default_rng([connectivity, seed])
    density = [0.15, 0.4, 0.6, 0.95][seed]
    open_arcs = rng.random((arcs, *tile)) < density
    sinks = rng.random(tile) < [0.02, 0, 0.01, 0.2][seed]
    # Only pixels that an arc leaves the tile from are offered anything.
    z_or_y = np.any([outside(tile, (dz, dy, 0)) for dz, dy, _ in tiled.offsets], axis=0)
    sideways = np.any([outside(tile, (0, 0, dx)) for *_, dx in tiled.offsets], axis=0)
    offered = (z_or_y | sideways) & (rng.random(tile) < [0.05, 0.01, 0.5, 0][seed])
    offers = np.where(offered, rng.integers(2, 40, tile), UNREACHABLE)

    level = np.full(search_words(arcs), -1, np.int32)
    level[:LEVEL_WORDS].reshape(32, PITCH)[:, :32] = offers.reshape(32, 32)
    level.view(np.uint32)[LEVEL_WORDS : LEVEL_WORDS + 32 * arcs] = bits_of(open_arcs.reshape(arcs * 32, 32))
    words = bits_of(sinks.reshape(32, 32))
    faces = np.flatnonzero(z_or_y.reshape(32, 32).any(axis=1)).astype(np.int32)
    seen = np.zeros(32, np.uint32)

    @cuda_kernel
    def one_tile(words, tile, offsets, faces, level, seen):
        lane = cuda.threadIdx.x
        masks = level.view(np.uint32)
        seen[lane] = search(lane, words[lane], tile, offsets.shape[0], offsets, faces, level, masks, 0)

    one_tile[1, 32](words, tile, offsets, faces, level, seen)
    expected = distances(np.where(sinks, 1, offers), open_arcs, tiled.offsets, UNREACHABLE)
    assert (expected < UNREACHABLE).any()
    assert (level[:LEVEL_WORDS].reshape(32, PITCH)[:, :32] == expected.reshape(32, 32)).all()
    assert (seen == bits_of((expected < UNREACHABLE).reshape(32, 32))).all()


@pytest.mark.parametrize(
    ("may_relabel", "share"), [(1, 1), (1, 0.5), (0, 0.7)], ids=["all arcs", "half of them", "push only"]
)
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
@pytest.mark.parametrize("connectivity", NEIGHBOURHOODS)
def test_discharge_of_one_tile(connectivity, wide, may_relabel, share):
    """Flow is conserved, no capacity is exceeded, and if all arcs are open all excess reaches the sink."""
    from gridcut.device.cuda import cuda, cuda_kernel
    from gridcut.tiles.tile_discharge import BLOCKED, PIXELS, Shape, discharge, height_index
    from gridcut.tiles.tile_search import UNREACHABLE

    tiled, _ = layout_of(connectivity)
    shape = Shape(tiled.offsets, tiled.tile, wide)
    tile, arcs, halo = tiled.tile, tiled.arcs, shape.halo
    steps_to, deltas = shape.pixel_steps, shape.height_steps
    e_at, list_at, n_heights = shape.excess_start, shape.list_start, shape.height_words
    rng = np.random.default_rng([connectivity, wide, may_relabel, int(10 * share)])
    unit = 2**35 if wide else 1

    h = np.zeros(shape.shared_bytes // 4, np.int32)
    w = (h.view(np.int64) if wide else h)[: e_at + PIXELS * (arcs + 1)]
    excess = rng.integers(-5, 5, tile) * (rng.random(tile) < 0.05) * unit
    residual = rng.integers(1, 4, (arcs, *tile)) * (rng.random((arcs, *tile)) < share) * unit
    w[e_at:] = np.concatenate([excess.ravel(), residual.ravel()])
    # In the halo too: heights need not be distances.
    h[:n_heights] = rng.integers(1, 30, n_heights)
    h[:n_heights][rng.random(n_heights) < 1 - share] = UNREACHABLE
    places = np.array([height_index(p, tile, halo) for p in range(PIXELS)])
    if share == 1:
        # Distances, as after a relabeling, so that discharging terminates.
        h[:n_heights] = 1
        border = np.any([outside(tile, offset) for offset in tiled.offsets], axis=0)
        h[places] = distances(np.where(border, 2, UNREACHABLE), residual > 0, tiled.offsets, UNREACHABLE).ravel()
    heights = h[:n_heights].copy()
    around = np.ones(heights.size, bool)
    around[places] = False
    h[:n_heights] = 2 * np.minimum(heights, BLOCKED // 2) + around
    left = np.ones(32, np.int32)
    max_barriers = 60 if share == 1 else 4

    @cuda_kernel
    def one_tile(steps_to, deltas, h, left):
        me = cuda.threadIdx.x
        w = h.view(np.int64) if wide else h
        left[me] = discharge(tile, halo, arcs, steps_to, deltas, max_barriers, may_relabel, h, w, e_at, list_at)

    one_tile[1, 32](steps_to, deltas, h, left)
    excess_now = w[e_at : e_at + PIXELS].reshape(tile).astype(np.int64)
    residual_now = w[e_at + PIXELS :].reshape(arcs, *tile).astype(np.int64)
    assert (residual_now >= 0).all()
    assert (excess_now >= np.minimum(excess, 0)).all()
    assert (residual_now != residual).any()
    assert (excess_now - excess == (residual_now - residual).sum(axis=0)).all()
    for k, offset in enumerate(tiled.offsets):
        p, q = neighbours(tile, offset)
        assert (residual_now[k][p] + residual_now[k ^ 1][q] == residual[k][p] + residual[k ^ 1][q]).all()
        leaving = outside(tile, offset)
        assert (residual_now[k] <= residual[k])[leaving].all()
        if not may_relabel:
            down = heights[places] > heights[np.clip(places + deltas[k], 0, None)]
            assert down.reshape(tile)[(residual_now[k] < residual[k]) & (residual_now[k ^ 1] == residual[k ^ 1])].all()
    assert ((h[:n_heights] & 1) == around).all()
    now = np.where(h[:n_heights] < BLOCKED, h[:n_heights] >> 1, UNREACHABLE)
    assert (now >= heights).all()
    assert (now == heights)[around].all()
    if share < 1:
        assert (now != heights).any() == may_relabel
    else:
        assert (left == 0).all()
        assert (excess_now <= 0).all()


def on_device(tiled, layout, excess, residual):
    """Excess and residuals in tiles, and the memory of a solve with their bits."""
    from gridcut.device.cuda import cuda
    from gridcut.tiles.tile_discharge import Shape
    from gridcut.tiles.tile_kernels import bits_kernel
    from gridcut.tiles.tile_state import make_state

    flat_excess, flat_residual = np.zeros(layout.size, np.int32), np.zeros(layout.size * layout.arcs, np.int32)
    layout.interior(flat_excess)[...] = excess
    layout.interior(flat_residual.reshape(-1, layout.arcs))[...] = np.moveaxis(residual, 0, -1)
    arrays = [cuda.to_device(a) for a in from_flat(tiled, flat_excess, flat_residual, layout, np.uint16)]
    state = make_state(tiled.count, tiled.arcs, Shape(tiled.offsets, tiled.tile, False).lists)
    for array in state:
        array.copy_to_device(np.zeros(array.shape, array.dtype))
    bits_kernel[tiled.count * (tiled.arcs + 1), 32](*arrays, tiled.arcs, tiled.count, state.bits)
    return arrays, state


def relabel(tiled, state):
    from gridcut.tiles.tile_discharge import Shape
    from gridcut.tiles.tile_kernels import SEARCH_THREADS, kernels_for
    from gridcut.tiles.tile_search import search_words

    kernel, _ = kernels_for(Shape(tiled.offsets, tiled.tile, False))
    kernel[1, SEARCH_THREADS, 0, 4 * search_words(tiled.arcs)](*state[:-1], tiled.tiles, 1)


def check_relabeling(tiled, layout, excess, open_arcs):
    """Heights are distances, and reach_bits is the set of pixels with a finite distance."""
    from gridcut.tiles.tile_search import UNREACHABLE

    for k, offset in enumerate(layout.offsets):
        open_arcs[k][outside(layout.shape, offset)] = False
    _, state = on_device(tiled, layout, excess, open_arcs)
    relabel(tiled, state)
    expected = distances(np.where(excess < 0, 1, UNREACHABLE), open_arcs, layout.offsets, UNREACHABLE)
    unused = np.zeros(tiled.cells * tiled.arcs, np.int32)
    height = layout.interior(to_flat(tiled, state.height.copy_to_host(), unused, layout)[0])
    assert (height == expected).all()
    words = state.reach_bits.copy_to_host()
    reach = ((words[:, None] >> np.arange(32, dtype=np.uint32)) & 1).astype(np.int32).ravel()
    assert (layout.interior(to_flat(tiled, reach, unused, layout)[0]) == (expected < UNREACHABLE)).all()
    return expected


@pytest.mark.parametrize(
    ("connectivity", "shape"), [(4, (40, 50)), pytest.param(26, (2, 9, 34), marks=pytest.mark.slow)]
)
def test_relabeling_finds_distances(connectivity, shape):
    """Across the boundaries of tiles."""
    tiled, layout = layout_of(connectivity, shape)
    rng = np.random.default_rng([connectivity, 3])
    open_arcs = rng.random((layout.arcs, *shape)) < (0.25 if connectivity == 26 else 0.6)
    excess = rng.integers(-1, 2, shape) * (rng.random(shape) < 0.005)
    expected = check_relabeling(tiled, layout, excess, open_arcs)
    assert 0.1 < (expected < expected.max()).mean() < 1


@pytest.mark.parametrize(("transposed", "end"), [(False, -1), (True, 0)])
def test_relabeling_along_a_winding_path(transposed, end):
    """A path that crosses a boundary repeatedly: each time the adjacent tile must be searched again."""
    shape = (7, 40)
    path = [(y, x) for y in range(7) for x in (range(28, 37) if y % 2 == 0 else range(36, 27, -1))]
    if transposed:
        shape, path = shape[::-1], [place[::-1] for place in path]
    tiled, layout = layout_of(4, shape)
    excess = np.zeros(shape, np.int32)
    excess[path[end]] = -1
    open_arcs = np.zeros((4, *shape), bool)
    for p, q in zip(path[1:], path[:-1], strict=True):
        k = layout.offsets.index((q[0] - p[0], q[1] - p[1]))
        open_arcs[k][p] = open_arcs[k ^ 1][q] = True
    expected = check_relabeling(tiled, layout, excess, open_arcs)
    assert expected[path[-1 - end]] == len(path)


# Whole solves


@pytest.fixture(autouse=True)
def _one_round_ahead(monkeypatch):
    """Enqueue one round at a time: in the simulator a round without work takes as long as any other."""
    from gridcut.tiles import tiles as solve

    monkeypatch.setattr(solve, "LAUNCHES_AHEAD", 1)


def problem_of(rng, shape, connectivity, unit=1):
    """Few pixels with excess and few with capacity to the sink, so that flow has far to travel."""
    dtype = np.int32 if unit == 1 else np.int64
    source, sink = rng.integers(0, 80, (2, *shape)) * (rng.random((2, *shape)) < 0.04)
    edges = {offset: rng.integers(0, 20, shape).astype(dtype) * unit for offset in gridcut.neighbourhood(connectivity)}
    return source.astype(dtype) * unit, sink.astype(dtype) * unit, edges


def check(source, sink, edges, unit=1):
    """Solve and compare with SciPy, which starts faster than the solvers on the CPU."""
    cut = oracles.solve(source, sink, edges, "auto cuda")
    assert cut.method == "tiles"
    small = (source // unit, sink // unit, {offset: capacity // unit for offset, capacity in edges.items()})
    assert cut.value == oracles.value_of(*small) * unit > 0
    return cut


@pytest.mark.parametrize(("shape", "connectivity"), [((8, 40), 4), pytest.param((2, 9, 6), 6, marks=pytest.mark.slow)])
def test_solve_across_tile_boundaries(shape, connectivity):
    problem = problem_of(np.random.default_rng(92), shape, connectivity)
    cut = check(*problem)
    if connectivity == 4:
        assert (cut.labels == gridcut.max_flow(*problem, device="cpu").labels).all()


def test_solve_with_two_kernels_per_round(monkeypatch):
    """As on grids of many tiles."""
    from gridcut.tiles import tiles as solve

    monkeypatch.setattr(solve, "SMALL_GRID_TILES", 0)
    check(*problem_of(np.random.default_rng(92), (8, 40), 4))
