"""Values against drawings and SciPy, certificates of all results, and the same labels from every method."""

import networkx
import numpy as np
import pytest

import gridcut
from gridcut import small
from gridcut.core import load
from tests.tiers import in_quick_tier

OFFSETS = {
    "2": [(1,)],
    "4": gridcut.neighbourhood(4),
    "8": gridcut.neighbourhood(8),
    "6": gridcut.neighbourhood(6),
    "directed": gridcut.neighbourhood(4, both=True),
    "18": gridcut.neighbourhood(18),
    "26": gridcut.neighbourhood(26),
    "odd": [(0, 2), (1, 2), (-2, 1)],
    "asymmetric": [(0, 1), (0, -1), (1, 0), (-1, 3)],
}
SHAPES = {
    1: [(37,), (1,), (2,)],
    2: [(9, 13), (1, 17), (17, 1), (1, 1), (2, 3)],
    3: [(4, 5, 6), (1, 1, 7), (3, 1, 2)],
}


def test_drawn_line(method, tools):
    """s ─9─► a ─2─► b ─2─► c ─9─► t,  s ─4─► b ─3─► t: the arcs that leave b form the cut."""
    cut = tools.solve(np.array([9, 4, 0]), np.array([0, 3, 9]), {(1,): 2}, method)
    assert cut.value == 5
    assert cut.labels.tolist() == [True, True, False]
    assert cut.flow((1,)).tolist()[1] == 2
    assert cut.flow((-1,)).tolist()[2] == -2


def test_drawn_square(method, tools):
    """
    s ─5─► a ─1─► b ─5─► t        The cut takes a ► b and a ► c: 1 + 2.  No arc leaves d.
           │2     │7
           ▼      ▼
           c ─3─► d ─0─► t,  c ─4─► t
    """
    source = np.array([[5, 0], [0, 0]])
    sink = np.array([[0, 5], [4, 0]])
    edges = {(0, 1): np.array([[1, 9], [3, 9]]), (1, 0): np.array([[2, 7], [9, 9]])}
    directed = {**edges, (0, -1): 0, (-1, 0): 0}
    cut = tools.solve(source, sink, directed, method)
    assert cut.value == 3
    assert cut.labels.tolist() == [[True, False], [False, True]], "d cannot reach the sink"


def test_ties_go_to_the_side_that_reaches_the_sink(method, tools):
    """Every cut of this chain costs 2; only the pixel beyond the last full arc still reaches the sink."""
    cut = tools.solve(np.array([2, 0, 0]), np.array([0, 0, 2]), {(1,): 2}, method)
    assert cut.value == 2
    assert cut.labels.tolist() == [True, True, True]
    cut = tools.solve(np.array([2, 0, 0]), np.array([0, 0, 3]), {(1,): 2}, method)
    assert cut.labels.tolist() == [True, True, False]


@pytest.mark.usefixtures("poison")
@pytest.mark.parametrize("offsets", in_quick_tier(OFFSETS, "4".__eq__))
def test_random_grids(method, offsets, tools):
    offsets = OFFSETS[offsets]
    rng = np.random.default_rng(len(offsets))
    for shape in SHAPES[len(offsets[0])]:
        for high in (2, 10, 1000):
            for mask in (None, "random"):
                source, sink, edges, mask = tools.random_problem(rng, shape, offsets, high=high, mask=mask)
                cut = tools.solve(source, sink, edges, method, mask=mask)
                assert cut.value == tools.oracle(source, sink, edges, mask)
                tools.check_flow(cut, source, sink, edges, mask)
                assert (cut.labels == tools.solve(source, sink, edges, mask=mask).labels).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("masked", [None, "random"])
@pytest.mark.parametrize("offsets", ["4", pytest.param("8", marks=pytest.mark.slow)])
def test_capacity_types(dtype, masked, offsets, device, tools):
    rng = np.random.default_rng(5)
    for shape in [(7, 9), (1, 12)]:
        source, sink, edges, mask = tools.random_problem(
            rng, shape, OFFSETS[offsets], dtype, high=200, density=0.7, mask=masked
        )
        cut = tools.solve(source, sink, edges, mask=mask, device=device)
        assert cut.value == tools.oracle(source, sink, edges, mask)
        assert isinstance(cut.value, float if np.dtype(dtype).kind == "f" else int)
        tools.check_flow(cut, source, sink, edges, mask)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("masked", [None, "random"])
@pytest.mark.parametrize(
    ("shape", "offsets"),
    [
        ((9, 13), "4"),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in (((9, 13), "8"), ((4, 5, 6), "26"), ((37,), "2"))),
    ],
)
def test_lines_loaded_by_several_threads(dtype, masked, shape, offsets, tools, monkeypatch):
    """More threads than bands of lines too; every cell is loaded once, whatever the number of threads."""
    monkeypatch.setattr(small, "MAX_PIXELS", 0)  # no fast path
    monkeypatch.setattr(load, "BAND_PIXELS", 20)
    monkeypatch.setattr(load, "SHARED_CELLS", 1)
    rng = np.random.default_rng(15)
    source, sink, edges, mask = tools.random_problem(
        rng, shape, OFFSETS[offsets], dtype, high=200, density=0.7, mask=masked
    )
    for threads in (1, 3, 40):
        monkeypatch.setattr(load, "thread_count", lambda threads=threads: threads)
        cut = tools.solve(source, sink, edges, mask=mask, device="cpu")
        assert cut.value == tools.oracle(source, sink, edges, mask)
        tools.check_flow(cut, source, sink, edges, mask)


def test_types_may_be_mixed(device, tools):
    rng = np.random.default_rng(6)
    source, sink, edges, _ = tools.random_problem(rng, (6, 7), OFFSETS["4"], density=1.0)
    want = tools.oracle(source, sink, edges)
    mixed = {o: np.asarray(c, t) for (o, c), t in zip(edges.items(), (np.int64, np.uint8), strict=True)}
    assert tools.solve(source.astype(np.uint16), sink, mixed, device=device).value == want
    cut = tools.solve(source.astype(np.float32), sink, mixed, device=device)
    assert (cut.value, type(cut.value)) == (want, float)
    assert tools.solve(source.astype(np.int8), sink.astype(np.uint32), edges, device=device).value == want


def test_networkx_agrees_on_directed_grids(method, tools):
    rng = np.random.default_rng(7)
    for _ in range(5):
        source, sink, edges, _ = tools.random_problem(rng, (3, 4), OFFSETS["directed"])
        graph = networkx.DiGraph()
        graph.add_nodes_from("st")
        for p in np.ndindex(3, 4):
            graph.add_edge("s", p, capacity=int(source[p]))
            graph.add_edge(p, "t", capacity=int(sink[p]))
            for offset, capacity in edges.items():
                q = tuple(np.add(p, offset))
                if 0 <= q[0] < 3 and 0 <= q[1] < 4:
                    graph.add_edge(p, q, capacity=int(np.broadcast_to(capacity, (3, 4))[p]))
        assert tools.solve(source, sink, edges, method).value == networkx.maximum_flow_value(graph, "s", "t")


def snake(height, width, capacity):
    """One long corridor from corner to corner: even rows open, odd rows open at alternating ends only."""
    mask = np.ones((height, width), bool)
    mask[1::2] = False
    mask[1::4, -1] = True
    mask[3::4, 0] = True
    source, sink = np.zeros((2, height, width), np.int64)
    source[0, 0] = capacity
    sink[-1, 0 if height % 4 == 3 else -1] = capacity
    return source, sink, mask


def test_long_snake(method, tools):
    for height, width in ((5, 40), (31, 33)):
        source, sink, mask = snake(height, width, 7)
        right = np.full((height, width), 5, np.int64)
        cut = tools.solve(source, sink, {(0, 1): right, (1, 0): 5}, method, mask=mask)
        assert cut.value == 5
        walls = {(0, 1): right * (mask & np.roll(mask, -1, 1)), (1, 0): right * (mask & np.roll(mask, -1, 0))}
        assert tools.solve(source, sink, walls, method).value == 5


def test_checkerboard(method, tools):
    board = np.indices((16, 17)).sum(0) % 2
    for weight in (0, 1, 3, 100):
        source, sink = (10 * board).astype(np.int64), (9 * (1 - board)).astype(np.int64)
        edges = {(0, 1): weight, (1, 0): np.full(board.shape, weight)}
        assert tools.solve(source, sink, edges, method).value == tools.oracle(source, sink, edges)


def test_degenerate_grids(method, tools):
    zero = np.zeros((4, 5), np.int64)
    full = zero + 3
    cut = tools.solve(zero, zero, {(0, 1): zero, (1, 0): 0}, method)
    assert cut.value == 0
    assert cut.labels.all(), "nothing reaches the sink, so nothing is on its side"
    assert tools.solve(full, zero, {(0, 1): full}, method).labels.all()
    assert not tools.solve(zero, full, {(0, 1): full}, method).labels.any()
    assert tools.solve(full, full, {(1, 0): full}, method).value == 60
    assert tools.solve(full, full + 1, {}, method).value == 60
    cut = tools.solve(full, full + 1, {(0, 1): full}, method, mask=zero.astype(bool))
    assert cut.value == 0
    assert not cut.labels.any()


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (2, 0, 3)])
def test_empty_grids(shape, method, tools):
    nothing = np.zeros(shape, np.int64)
    cut = tools.solve(nothing, nothing, {(0,) * (len(shape) - 1) + (1,): nothing}, method)
    assert cut.value == 0
    assert cut.labels.shape == shape
    assert cut.residual((0,) * (len(shape) - 1) + (1,)).shape == shape
    name, parameters = tools.METHODS[method]
    assert gridcut.Solver(nothing, nothing, {}, method=name, **parameters).solve().labels.shape == shape


def test_offsets_longer_than_the_grid_connect_nothing(device, tools):
    source, sink = np.array([[3, 0]]), np.array([[0, 3]])
    cut = tools.solve(source, sink, {(1, 0): 5, (0, 7): 5, (-3, 9): 5}, device=device)
    assert cut.value == 0
    assert cut.flow((0, 7)).tolist() == [[0, 0]]


def test_what_points_out_of_the_grid_or_the_mask_is_ignored(device, tools):
    right = np.array([[1, 1, -5], [2, 2, 10**9]])
    down = np.array([[1, 1, 1], [-1, -(10**6), -1]])
    mask = np.ones((2, 3), bool)
    source, sink = np.array([[5, 0, 0], [0, 0, 0]]), np.array([[0, 0, 0], [0, 0, 5]])
    assert tools.solve(source, sink, {(0, 1): right, (1, 0): down}, device=device).value == 2
    mask[1] = False
    source[1] = -1
    right[1] = -1
    assert tools.solve(source, sink, {(0, 1): right, (1, 0): down}, mask=mask, device=device).value == 0
    floats = right.astype(float)
    floats[:, -1] = np.nan
    assert tools.solve(source, sink.astype(float), {(0, 1): floats, (1, 0): down}, mask=mask, device=device).value == 0


@pytest.mark.parametrize("big", [10**9, 2**31 - 1, 2**40, 2**58])
def test_large_capacities(big, method, tools):
    rng = np.random.default_rng(8)
    source, sink, edges, _ = tools.random_problem(rng, (8, 9), OFFSETS["4"], np.int64, high=4)
    want = tools.oracle(source, sink, edges)
    cut = tools.solve(source * big, sink * big, {o: c * big for o, c in edges.items()}, method)
    assert cut.value == want * big
    assert cut.stats["dtype"] == "int64"


def test_the_value_may_exceed_64_bits(device, tools):
    big = np.full((8, 8), 2**62)
    assert tools.solve(big, big * 0, {}, device=device).value == 0
    cut = tools.solve(np.where(np.eye(8), big, 0), np.where(np.eye(8), big - 1, 0), {}, device=device)
    assert cut.value == 8 * (2**62 - 1)


@pytest.mark.parametrize("number", [np.int64, np.float32])
def test_what_is_left_to_the_sink_may_exceed_64_bits(device, tools, number):
    source, sink = np.ones((8, 8), number), np.full((8, 8), 2**61, number)
    assert tools.solve(source, sink, {(0, 1): number(3)}, device=device).value == 64


def test_int32_where_it_fits(tools):
    small = np.full((3, 3), 2**28, np.int64)
    edges = {(0, 1): 2**28, (1, 0): 2**28}
    assert tools.solve(small, small, edges).stats["dtype"] == "int32"
    assert tools.solve(small * 6, small, edges).stats["dtype"] == "int64"


def test_floats_are_rounded_to_a_reported_unit(device, tools):
    rng = np.random.default_rng(9)
    for scale in (1.0, 1e-30, 1e30):
        source, sink = rng.random((2, 9, 9)) * scale
        edges = {(0, 1): rng.random((9, 9)) * scale, (1, 0): 0.3 * scale}
        cut = tools.solve(source, sink, edges, device=device)
        unit = cut.stats["unit"]
        assert np.log2(unit) == int(np.log2(unit))
        assert unit < 1e-15 * scale
        doubled = tools.solve(2 * source, 2 * sink, {o: 2 * c for o, c in edges.items()}, device=device)
        assert doubled.value == pytest.approx(2 * cut.value, rel=1e-12)
        assert (doubled.labels == cut.labels).all()


def test_strided_reversed_broadcast_and_readonly_arrays(device, tools):
    rng = np.random.default_rng(10)
    source, sink, edges, _ = tools.random_problem(rng, (6, 8), OFFSETS["4"], density=1.0)
    want = tools.solve(source, sink, edges)
    views = {
        "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
        "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        "fortran": np.asfortranarray,
        "swapped": lambda a: a.astype(a.dtype.newbyteorder()),
        "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    }
    for view in views.values():
        arrays = [view(a) for a in (source, sink, *(np.broadcast_to(c, (6, 8)) for c in edges.values()))]
        for a in arrays:
            a.flags.writeable = False
        before = [a.copy() for a in arrays]
        cut = tools.solve(*arrays[:2], dict(zip(edges, arrays[2:], strict=True)), device=device)
        tools.assert_equal_cuts(cut, want)
        assert all((a == b).all() for a, b in zip(arrays, before, strict=True))
    row = np.broadcast_to(np.arange(8, dtype=np.int64), (6, 8))
    cut = tools.solve(source, sink, {(0, 1): row, (1, 0): row[:, ::-1]}, device=device)
    assert cut.value == tools.oracle(source, sink, {(0, 1): row, (1, 0): row[:, ::-1]})
    assert tools.solve(3, sink, edges, device=device).value == tools.oracle(source * 0 + 3, sink, edges)


def test_callback_is_called_and_may_stop(method, tools):
    rng = np.random.default_rng(11)
    source, sink, edges, _ = tools.random_problem(rng, (20, 20), OFFSETS["4"], density=1.0)
    name, parameters = tools.METHODS[method]
    seen = []
    gridcut.max_flow(source, sink, edges, method=name, **parameters, callback=seen.append)
    assert seen
    assert all(isinstance(s, dict) for s in seen)

    def stop(stats):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gridcut.max_flow(source, sink, edges, method=name, **parameters, callback=stop)
