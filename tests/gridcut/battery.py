"""One table of instances for every solver of minimum cuts, and one checker that shares no code with the product.

Oracles, by name:
  exhaustive   all cuts of tiny grids, in Python integers; the labels from the union of all minimum source sides
  scipy        scipy.sparse.csgraph.maximum_flow, with integers; the labels from a search of its residual graph
Floats are multiples of a power of two, so that oracles work on integers; `scale` is what 1 of them is worth.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

TINY = 9  # pixels, or fewer, of which all cuts are tried
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


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
        return [v if v == math.inf else round(Fraction(v) / Fraction(instance.scale)) for v in flat]

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
        value = sum(sink[p] if p in side else source[p] for p in pixels)
        value += sum(capacity for p, q, capacity in arcs if p in side and q not in side)
        if best is None or value < best:
            best, union = value, set()
        if value == best:
            union |= side
    return best, [p in union for p in range(len(source))]


def by_scipy(source, sink, arcs, inside):
    """The maximum flow; the pixels that cannot reach the sink in its residual graph are on the source side."""
    n = len(source)
    pixels = np.flatnonzero(inside).tolist()
    triples = [(n, p, source[p]) for p in pixels] + [(p, n + 1, sink[p]) for p in pixels] + arcs
    rows, columns, capacities = zip(*triples, strict=True)
    if sum(capacities) > INT32_MAX:
        raise ValueError("too large for SciPy's integers; give the instance fewer pixels")
    graph = coo_array((np.array(capacities, np.int32), (rows, columns)), (n + 2, n + 2)).tocsr()
    graph.sum_duplicates()
    found = maximum_flow(graph, n, n + 1)
    residual = (graph - found.flow).tocsr()
    residual.eliminate_zeros()
    reaches = breadth_first_order(residual.T.tocsr(), n + 1, return_predecessors=False)
    sinks = set(reaches.tolist())
    return int(found.flow_value), [bool(inside[p]) and p not in sinks for p in range(n)]


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


def wrong_flow(cut, instance: Instance) -> str | None:
    """What is wrong with flow() and residual() of a cut, in Python integers; None: nothing."""
    shape, source, sink, arcs, _ = grid_of(instance)
    room, out = {}, [0] * len(source)
    for p, q, capacity in arcs:
        room[p, q] = room.get((p, q), 0) + capacity
    scale = instance.scale or 1
    offsets = {tuple(np.atleast_1d(offset).tolist()) for offset in instance.edges}
    seen = {}
    for offset in offsets | {tuple(-o for o in offset) for offset in offsets}:
        flow, residual = np.asarray(cut.flow(offset)), np.asarray(cut.residual(offset))
        if flow.shape != shape or residual.shape != shape or (residual < 0).any():
            return f"flow or residual along {offset} of wrong shape or sign"
        for p, place in enumerate(np.ndindex(shape)):
            amount = round(flow[place].item() / scale) if instance.scale else flow[place].item()
            far = tuple(i + o for i, o in zip(place, offset, strict=True))
            outside = not all(0 <= i < d for i, d in zip(far, shape, strict=True))
            q = -1 if outside else int(np.ravel_multi_index(far, shape))
            if amount > room.get((p, q), 0):
                return f"flow {amount} from {place} along {offset}, of capacity {room.get((p, q), 0)}"
            out[p] += amount
            seen[p, q] = amount
    for (p, q), amount in seen.items():
        if q >= 0 and seen[q, p] != -amount:
            return f"flows between pixels {p} and {q} are {amount} and {seen[q, p]}"
    if any(not -t <= o <= s for o, s, t in zip(out, source, sink, strict=True) if o):
        return "a pixel passes on more than it gets"
    if sum(out) != 0:
        return "flow is lost"
    through = sum(min(s, t + o) for o, s, t, i in zip(out, source, sink, grid_of(instance)[4], strict=True) if i)
    if through * scale != cut.value:
        return f"the flow is of value {through * scale}, the cut of {cut.value}"
    return None


# Grids and neighbourhoods; every number of arcs is compiled once, so there are few.
LINE, FOUR, EIGHT, SIX = [(1,)], [(0, 1), (1, 0)], [(0, 1), (1, 0), (1, 1), (1, -1)], [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
SHAPES = {
    1: [(1,), (2,), (9,), (33,)],
    2: [(1, 1), (1, 7), (6, 1), (3, 3), (5, 6), (11, 12)],
    3: [(1, 1, 1), (1, 3, 2), (2, 2, 2), (3, 4, 5)],
}
NEIGHBOURHOODS = {1: [LINE, [(3,)]], 2: [FOUR, EIGHT, [(0, 2), (2, -1)], [(1, 0), (9, 9)]], 3: [SIX, [(1, 0, -1)]]}
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


# Keywords of max_flow that replace those of a good call, the exception, and words of its message.
MALFORMED = [
    ({"source": np.full((3, 4), -1)}, ValueError, r"source holds -1 at \(0, 0\)"),
    ({"sink": np.full((3, 4), np.nan)}, ValueError, r"sink holds nan at \(0, 0\)"),
    ({"edges": {(0, 1): -2}}, ValueError, r"edges\[\(0, 1\)\] holds -2"),
    ({"sink": np.zeros((4, 3))}, ValueError, "sink must"),
    ({"source": np.zeros((1, 2, 3, 4))}, ValueError, "1, 2 or 3 axes"),
    ({"source": 3, "sink": 4}, ValueError, "1, 2 or 3 axes"),
    ({"source": np.zeros((3, 4), complex)}, TypeError, "source must be an array of"),
    ({"source": np.zeros((3, 4), np.uint64)}, TypeError, "source must be an array of"),
    ({"source": [[1, 2], [3]]}, TypeError, "source must be"),
    ({"source": "abc"}, TypeError, "source must be"),
    ({"source": None}, TypeError, "source must be"),
    ({"edges": [1, 2]}, TypeError, "edges must be a mapping"),
    ({"edges": {(0, 1, 0): 1}}, ValueError, "2 entries"),
    ({"edges": {(0, 0): 1}}, ValueError, "connects a pixel to itself"),
    ({"edges": {(0, 0.5): 1}}, TypeError, "must be a tuple of 2 integers"),
    ({"edges": {(0, 1): np.zeros((2, 2))}}, ValueError, "scalar or have the grid's shape"),
    ({"mask": np.zeros((3, 4), int)}, TypeError, "mask must be a bool array"),
    ({"mask": np.zeros((4, 3), bool)}, ValueError, "mask must have the grid's shape"),
    ({"method": "nothing"}, ValueError, "method must be one of"),
    ({"method": 3}, TypeError, "method must be a name"),
    ({"device": "gpu"}, ValueError, "device must be"),
    ({"speed": 3}, TypeError, "'speed'"),
    ({"source": np.full((3, 4), INT64_MAX)}, ValueError, "too large"),
]
GOOD = {"source": np.ones((3, 4), int), "sink": np.full((3, 4), 2), "edges": {(0, 1): 1, (1, 0): 1}}


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
