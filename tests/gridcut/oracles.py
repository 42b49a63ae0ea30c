"""Instances, oracles and checkers of minimum cuts, which share no code with the product.

Oracles, by name:
  exhaustive   all cuts of tiny grids, in Python integers; the labels from the union of all minimum source sides
  scipy        scipy.sparse.csgraph.maximum_flow, with integers; the labels from a search of its residual graph
Floats are multiples of a power of two, so that oracles work on integers; `scale` is what 1 of them is worth.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

import gridcut
from gridcut.methods import METHODS as TABLE

TINY = 9  # pixels, or fewer, of which all cuts are tried
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
INFINITE = 2**4000  # stands for inf among exact integers

# Parameters that methods are tested with, by the word that tells variants of one method apart.
PARAMETERS = {
    "push_relabel": {" fifo": {"order": "fifo"}, " highest": {"order": "highest"}},
    "lock_free": {"": {"threads": 3}},
    "async_global": {"": {"threads": 3, "global_every": 0.1}},
}


def variants(device: str, of_device: str = "") -> dict:
    """name -> (method, parameters): "auto", which runs "ibfs" or "tiles", and all others of the table."""
    found = {f"auto{of_device}": ("auto", {"device": device})}
    for name, entry in TABLE.items():
        if getattr(entry, device) and name not in ("ibfs", "tiles"):
            both = entry.cpu and entry.cuda
            for variant, parameters in (PARAMETERS.get(name, {}) if device == "cpu" else {}).items() or [("", {})]:
                found[f"{name}{variant}{of_device * bool(both)}"] = name, {"device": device, **parameters}
    return found


ON_CPU, ON_CUDA = variants("cpu"), variants("cuda", " cuda")
METHODS = ON_CPU | ON_CUDA


class Instance(NamedTuple):
    """Arguments of max_flow, and the same as plain integers for the oracles."""

    name: str
    source: object
    sink: object
    edges: dict
    mask: np.ndarray | None = None
    scale: float | None = None  # None: integers

    @property
    def arguments(self):
        return self.source, self.sink, self.edges


class Answer(NamedTuple):
    """What an oracle says of an instance."""

    oracle: str
    value: int | float
    labels: np.ndarray


def grid_of(instance: Instance):
    """Shape, source and sink as lists of Python integers, arcs (p, q, capacity), and which pixels take part."""
    shape = np.shape(instance.source) or np.shape(instance.sink)

    def exact(array):
        flat = np.broadcast_to(np.asarray(array), shape).reshape(-1).tolist()
        if instance.scale is None:
            return flat
        return [INFINITE if v == math.inf else round(Fraction(v) / Fraction(instance.scale)) for v in flat]

    inside = np.ones(shape, bool) if instance.mask is None else instance.mask
    arcs = []
    keys = {tuple(np.atleast_1d(offset).tolist()): capacity for offset, capacity in instance.edges.items()}
    for offset, capacity in keys.items():
        capacity = exact(capacity)
        undirected = tuple(-o for o in offset) not in keys
        for p, place in enumerate(np.ndindex(shape)):
            far = tuple(i + o for i, o in zip(place, offset, strict=True))
            if all(0 <= i < d for i, d in zip(far, shape, strict=True)) and inside[place] and inside[far]:
                q = int(np.ravel_multi_index(far, shape))
                arcs.append((p, q, capacity[p]))
                if undirected:
                    arcs.append((q, p, capacity[p]))
    return shape, exact(instance.source), exact(instance.sink), arcs, inside.reshape(-1)


def solve_by_oracle(instance: Instance) -> Answer:
    """Value and labels of the minimum cut."""
    shape, source, sink, arcs, inside = grid_of(instance)
    pixels = int(inside.sum())
    solve = exhaustive if pixels <= TINY else by_scipy
    value, labels = solve(source, sink, arcs, inside)
    value = value if instance.scale is None else value * instance.scale
    return Answer(solve.__name__.removeprefix("by_"), value, np.array(labels, bool).reshape(shape))


def exhaustive(source, sink, arcs, inside):
    """The least of all cuts, and the union of the source sides of all that are."""
    pixels = np.flatnonzero(inside).tolist()
    best, union = None, set()
    for number in range(1 << len(pixels)):
        side = {p for i, p in enumerate(pixels) if number >> i & 1}
        value = capacity_of(side, source, sink, arcs, inside)
        if best is None or value < best:
            best, union = value, set()
        if value == best:
            union |= side
    return best, [p in union for p in range(len(source))]


def capacity_of(side, source, sink, arcs, inside):
    """What a cut costs; `side`: the pixels of the source."""
    value = sum(sink[p] if p in side else source[p] for p in np.flatnonzero(inside).tolist())
    return value + sum(capacity for p, q, capacity in arcs if p in side and q not in side)


def by_scipy(source, sink, arcs, inside):
    tails, heads, capacities = zip(*arcs, strict=True) if arcs else ((), (), ())
    n = len(source)
    graph = scipy.sparse.coo_array((np.array(capacities, np.int64), (tails, heads)), shape=(n, n))
    value, labels = graph_cut(graph, *(np.where(inside, np.array(part, np.int64), 0) for part in (source, sink)))
    return value, labels & inside


def graph_cut(graph, source, sink):
    """Value and labels of a sparse graph by SciPy: the sink side is what reaches the sink in the residual graph."""
    n = graph.shape[0]
    graph = graph.tocoo()
    nodes = np.arange(n)
    data = np.r_[graph.data, source, sink].astype(np.int64)
    if data.sum() > INT32_MAX:
        raise ValueError("too large for SciPy's integers; give the instance fewer pixels")
    rows, cols = np.r_[graph.row, np.full(n, n), nodes], np.r_[graph.col, nodes, np.full(n, n + 1)]
    kept = rows != cols
    ends = rows[kept], cols[kept]
    network = scipy.sparse.csr_array((data[kept].astype(np.int32), ends), shape=(n + 2, n + 2))
    solved = maximum_flow(network, n, n + 1)
    residual = scipy.sparse.csr_array(network - solved.flow)
    residual.eliminate_zeros()
    reaching = breadth_first_order(residual.T.tocsr(), n + 1, return_predecessors=False)
    labels = np.ones(n + 2, bool)
    labels[reaching] = False
    return int(solved.flow_value), labels[:n]


def value_of(source, sink, edges, mask=None) -> int:
    """The value of the minimum cut of integers, whatever their dtype."""
    return solve_by_oracle(Instance("", source, sink, edges, mask, 1)).value


def wrong(cut, instance: Instance, answer: Answer) -> str | None:
    """What is wrong with a cut: its type, value, labels, or the flow it shows; None: nothing."""
    labels = np.asarray(cut.labels)
    if type(cut.value) is not (int if instance.scale is None else float):
        return f"value of type {type(cut.value).__name__}"
    close = cut.value == answer.value or (
        instance.scale is not None and math.isclose(cut.value, answer.value, rel_tol=1e-12)
    )
    if not close:
        return f"value {cut.value}, {answer.oracle} says {answer.value}"
    if labels.dtype != np.bool_ or not np.array_equal(labels, answer.labels):
        return f"labels {labels.tolist()}, {answer.oracle} says {answer.labels.tolist()}"
    return None


def opposite(offset):
    return tuple(-i for i in offset)


def ends(offset, shape):
    """Indices of p and of p + offset, over all pixels p for which both are inside."""
    near = tuple(slice(max(0, -o), max(0, d - max(0, o))) for o, d in zip(offset, shape, strict=True))
    far = tuple(slice(max(0, o), max(0, d + min(0, o))) for o, d in zip(offset, shape, strict=True))
    return near, far


def check_flow(cut, source, sink, edges, mask=None):
    """Check that flow() satisfies the capacities and the balance of every pixel and has the cut's value.

    residual() must be what it leaves of the capacities, unless they are floats so large that they are clamped.
    """
    shape = np.shape(cut.labels)
    inside = np.ones(shape, bool) if mask is None else mask
    source, sink = (np.where(inside, np.broadcast_to(np.asarray(a), shape), 0).astype(object) for a in (source, sink))
    edges = {_key(offset): np.broadcast_to(np.asarray(capacity), shape) for offset, capacity in edges.items()}
    net_out = np.zeros(shape, object)
    for offset in {*edges, *map(opposite, edges)}:
        near, far = ends(offset, shape)
        both = inside[near] & inside[far]
        room = np.zeros(shape, object)
        given = edges[offset][near] if offset in edges else edges[opposite(offset)][far]
        room[near] = np.where(both, given.astype(object), 0)
        flow, residual = (np.asarray(ask(offset)).astype(object) for ask in (cut.flow, cut.residual))
        assert flow.shape == residual.shape == shape
        net_out += flow
        assert (flow <= room).all()
        # The flow that leaves one end arrives at the other.
        assert (flow[near] == -np.asarray(cut.flow(opposite(offset)))[far].astype(object)).all()
        assert (residual[near] >= 0).all()
        is_clamped = (given.astype(float) > 1e15) & (given.dtype.kind == "f")
        assert (residual[near] == room[near] - flow[near])[both & ~is_clamped].all()
    # A pixel receives at most its source capacity and sends at most its sink capacity.
    assert (net_out <= source).all()
    assert (net_out >= -sink).all()
    assert net_out.sum() == 0
    # The flow from the source, minus the flow from the source side to the sink, crosses the cut.
    assert np.minimum(source, sink + net_out).sum() == cut.value


def solve(source, sink, edges, method="auto", **keywords):
    """max_flow by a name of METHODS (default: the CPU's default), certified."""
    name, parameters = METHODS[method]
    cut = gridcut.max_flow(source, sink, edges, method=name, **{**parameters, **keywords})
    cut.check()
    return cut


def assert_equal_cuts(cut, expected):
    """Equal values and labels: the tie rule makes labels unique."""
    assert cut.value == expected.value
    assert (cut.labels == expected.labels).all()


def random_problem(rng, shape, offsets, dtype=np.int64, high=10, density=None, mask=None):
    """Capacities 0 .. high - 1, some of them scalars, on a random part of the pixels."""

    def capacity():
        part = rng.choice([0.1, 0.5, 1.0]) if density is None else density
        return (rng.integers(0, high, shape) * (rng.random(shape) < part)).astype(dtype)

    edges = {o: capacity() if rng.random() < 0.8 else dtype(rng.integers(0, high)) for o in offsets}
    if mask == "random":
        mask = rng.random(shape) < 0.7
    return capacity(), capacity(), edges, mask


def library(name):
    """to(array) and back(array) of a library, and the type of its arrays."""
    module = pytest.importorskip(name)
    if name == "torch":
        return (
            lambda a: module.as_tensor(np.ascontiguousarray(a), device="cuda"),
            lambda t: t.cpu().numpy(),
            module.Tensor,
        )
    return module.asarray, module.asnumpy, module.ndarray


# Grids and neighbourhoods; every number of arcs is compiled once, so there are few.
LINE, FOUR, EIGHT, SIX = [(1,)], [(0, 1), (1, 0)], [(0, 1), (1, 0), (1, 1), (1, -1)], [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
SHAPES = {
    1: [(1,), (2,), (9,), (33,)],
    2: [(1, 1), (1, 7), (6, 1), (3, 3), (5, 6), (11, 12)],
    3: [(1, 1, 1), (1, 3, 2), (2, 2, 2), (3, 4, 5)],
}
NEIGHBOURHOODS = {
    1: [LINE, [(3,)]],
    2: [FOUR, EIGHT, [(0, 2), (2, -1)], [(1, 0), (9, 9)], [(0, 1), (0, -1), (1, 0), (-1, 3)]],
    3: [SIX, [(1, 0, -1)]],
}
DTYPES = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.int64, np.float16, np.float32, np.float64)
LAYOUTS = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: np.flip(a).copy()[(slice(None, None, -1),) * a.ndim],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": lambda a: _frozen(a.copy()),
    "list": lambda a: a.tolist(),
    "not aligned": lambda a: _unaligned(a),
}
STEP = 2.0**-3  # of float capacities
USUAL = ("int64", "float64")  # types of the quick tier
NO_EDGES = {(0, 1): 0, (1, 0): 0}


def _frozen(array):
    array.flags.writeable = False
    return array


def _unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def drawn(rng, shape, offsets, dtype=np.int64, layout="C", *, mask="none", name="", directed=None, high=9):
    """A random instance."""
    dtype = np.dtype(dtype)
    is_float = dtype.kind == "f"

    def capacity():
        values = rng.integers(0, high, shape) * (rng.random(shape) < rng.choice([0.3, 1.0]))
        return LAYOUTS[layout]((values * STEP if is_float else values).astype(dtype))

    directed = rng.random() < 0.5 if directed is None else directed
    edges = {}
    for offset in offsets:
        edges[offset] = capacity()
        if directed:
            edges[tuple(-o for o in offset)] = capacity()
    masks = {
        "none": lambda: None,
        "random": lambda: rng.random(shape) < 0.7,
        "all": lambda: np.ones(shape, bool),
        "nothing": lambda: np.zeros(shape, bool),
        "one": lambda: np.arange(math.prod(shape)).reshape(shape) == 0,
    }
    return Instance(name, capacity(), capacity(), edges, masks[mask](), STEP if is_float else None)


def table():
    """The instances of the default battery."""
    rng = np.random.default_rng(2011)
    for axes, shapes in SHAPES.items():
        for shape in shapes:
            for offsets in NEIGHBOURHOODS[axes]:
                yield drawn(rng, shape, offsets, name=f"{shape} {offsets}")
    for dtype in DTYPES:
        yield drawn(rng, (4, 5), FOUR, dtype, name=f"dtype {np.dtype(dtype).name}")
    for layout in LAYOUTS:
        for dtype in (np.int32, np.int64, np.float64):
            yield drawn(rng, (4, 5), FOUR, dtype, layout, name=f"layout {layout} {np.dtype(dtype).name}")
        yield drawn(rng, (2, 3, 2), SIX, np.uint16, layout, name=f"layout {layout} in a volume")
    for mask in ("random", "all", "nothing", "one"):
        yield drawn(rng, (5, 6), EIGHT, mask=mask, name=f"mask {mask}")
        yield drawn(rng, (3, 2, 3), SIX, np.float32, mask=mask, name=f"mask {mask}, floats")
    yield Instance("scalars", np.array([[3, 0, 2], [1, 5, 0]]), 2, {(0, 1): 1, (1, 0): 3})
    yield Instance("broadcast", np.broadcast_to(np.int64(4), (3, 4)), np.arange(12).reshape(3, 4), {(0, 1): 2})
    yield Instance("no edges", np.array([3, 1, 4]), np.array([1, 5, 9]), {})
    yield Instance("edges of nothing", np.array([3, 1, 4]), np.array([1, 5, 9]), {(1,): 0})
    yield Instance("an integer offset", np.array([9, 4, 0]), np.array([0, 3, 9]), {1: 2})
    yield Instance("offset longer than the grid", np.array([[9, 4, 0]]), np.array([[0, 3, 9]]), {(0, 5): 7, (3, 0): 7})
    yield Instance(
        "kinds mixed", np.arange(6, dtype=np.uint8), np.arange(6)[::-1] * STEP, {(1,): np.float32(STEP)}, None, STEP
    )
    yield from extremes()


def extremes():
    """Capacities incident to a pixel that sum to the limits of the integers, or to values next to them."""
    for limit in (INT32_MAX, INT32_MAX + 1, INT64_MAX):
        arc = limit // 5
        rest = limit - 2 * arc
        source = np.array([[rest - 7, 0, rest // 2, 0]], np.int64)
        sink = np.array([[0, 7, 3, 7]], np.int64)
        edges = {(0, 1): np.array([[arc, arc // 2, arc, 5]], np.int64), (0, -1): arc, (1, 0): 0}
        yield Instance(f"limit {limit}", source, sink, edges)
        yield Instance(f"limit {limit} at one terminal", np.array([[limit, 0]]), np.array([[0, 0]]), NO_EDGES)
    both = {(0, 1): 2**30 + 5, (0, -1): 2**30 + 5, (1, 0): 0}  # with all flow one way, what is left the other way
    yield Instance("an arc and its reverse", np.array([[INT32_MAX, 0]]), np.array([[0, INT32_MAX]]), both)
    inf = math.inf
    for name, far in (("infinite", inf), ("huge", 2.0**200), ("the largest", 2.0**1023)):
        edges = {(0, 1): np.array([[0.5, far, 0.25, 3.0]]), (1, 0): 0}
        source, sink = np.array([[far, 0.25, 0, 0]]), np.array([[0, 0.75, 0, far]])
        yield Instance(f"{name} terminals", source, sink, edges, None, STEP)
        source, sink = np.array([[1.5, 0.25, 0, 0]]), np.array([[0, 0.75, 0, 0.125]])
        yield Instance(f"{name} arcs", source, sink, edges, None, STEP)
    tiny = 2.0**-1060
    source, sink = np.array([[3 * tiny, 0]]), np.array([[0, 5 * tiny]])
    yield Instance("tiny", source, sink, NO_EDGES | {(0, 1): 4 * tiny}, None, tiny)
    source, sink = np.array([[2.0**40, 0, STEP]]), np.array([[STEP, 0, 2.0**41]])
    yield Instance("wide floats", source, sink, NO_EDGES | {(0, 1): 0.5}, None, STEP)


def is_rare(instance: Instance) -> bool:
    """Whether an instance needs kernels that grids of 4 neighbours with capacities of NumPy's own types do not.

    Kernels are compiled once for each number of arcs and each type; the quick tier leaves rare ones out.
    """
    arrays = [instance.source, instance.sink, *instance.edges.values()]
    is_usual = {np.asarray(array).dtype.newbyteorder("=").name for array in arrays}.issubset(USUAL)
    return not is_usual or len({max(key, tuple(-o for o in key)) for key in map(_key, instance.edges)}) != 2


def _key(offset) -> tuple[int, ...]:
    return tuple(np.atleast_1d(offset).tolist())


def random_instance(seed: int) -> Instance:
    """An instance of the thorough battery."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    shape = tuple(rng.integers(1, {1: 30, 2: 9, 3: 5}[axes] + 1, axes).tolist())
    offsets = NEIGHBOURHOODS[axes][rng.integers(len(NEIGHBOURHOODS[axes]))]
    dtype = DTYPES[rng.integers(len(DTYPES))]
    layout = list(LAYOUTS)[rng.integers(len(LAYOUTS))]
    mask = rng.choice(["none", "none", "none", "random", "one"])
    high = int(rng.choice([2, 4, 30, 120]))
    return drawn(rng, shape, offsets, dtype, layout, mask=mask, name=f"seed {seed}", high=high)


# Sparse graphs


def random_graph(seed):
    """A small graph of random density, with repeated entries and loops, symmetric in a third of all cases."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    m = int(rng.integers(0, 5 * n))
    high = int(rng.choice([2, 20, 1000]))
    graph = scipy.sparse.coo_array((rng.integers(0, high, m), rng.integers(0, n, (2, m))), shape=(n, n))
    if seed % 3 == 0:
        graph = scipy.sparse.csr_array(graph)
        graph.setdiag(0)
        graph.eliminate_zeros()
        graph = (graph + graph.T).tocoo()
    source = rng.integers(0, high, n) * (rng.random(n) < 0.4)
    sink = rng.integers(0, high, n) * (rng.random(n) < 0.4)
    return graph, source, sink


def layered_problem(width=4, layers=40):
    """Goldberg's family: layers in which each unit of flow has to change its path."""
    n = width * layers
    rng = np.random.default_rng(1)
    tails, heads, capacity = [], [], []
    for layer in range(layers - 1):
        for i in range(width):
            for j in range(width):
                tails.append(layer * width + i)
                heads.append((layer + 1) * width + j)
                capacity.append(int(rng.integers(1, 1 << (1 + (i + j + layer) % 12))))
    graph = scipy.sparse.coo_array((capacity, (tails, heads)), shape=(n, n))
    source, sink = np.zeros(n, int), np.zeros(n, int)
    source[:width], sink[-width:] = 10**5, 10**5
    return graph, source, sink


def as_tuple(graph, rng=None):
    """The entries of a COO graph by rows, with repetitions; in random order within the rows."""
    order = np.arange(graph.nnz) if rng is None else rng.permutation(graph.nnz)
    order = order[np.argsort(graph.row[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.row, minlength=graph.shape[0]))])
    return indptr, graph.col[order], graph.data[order], graph.shape
