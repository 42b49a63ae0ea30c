"""Results of every kind, as tests/corruption.py falsifies them."""

import numpy as np
import scipy.sparse

import gridcut

SHAPE = (4, 6)
NEAR = {(0, 1): 3, (1, 0): 2}
DISTANCE = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))

# The fields that a certificate proves; the others say what ran.
PROVED = {
    "Cut": ("value", "labels"),
    "BatchCut": ("values", "labels"),
    "GraphCut": ("value", "labels"),
    "Labelling": ("labels", "energy"),
    "BinaryMinimum": ("labels", "value", "cut", "constant"),
    "ConvexMinimum": ("labels", "energy", "cut", "constant"),
    "RoofDual": ("labels", "bound", "cut", "constant"),
}


def capacities(seed, shape=SHAPE, factor=1, offsets=NEAR, high=20):
    """Source, sink and edges, each of them an array."""
    rng = np.random.default_rng(seed)
    source, sink = rng.integers(0, high, (2, *shape)) * factor
    return source, sink, {offset: rng.integers(0, 7, shape) * factor for offset in offsets}


def cut(seed, device, *, method="auto", **changes):
    given = capacities(seed, **changes)
    return gridcut.max_flow(*given, device=device, method=method), list(given[:2])


def masked_cut(seed, device):
    given = capacities(seed)
    mask = np.ones(SHAPE, bool)
    mask[1, 2:4] = False
    source, sink, edges = given
    return gridcut.max_flow(source, sink, edges, mask=mask, device=device), []


def empty_cut(seed, device):
    shape = (0, 4) if seed == 1 else (3, 0)
    return gridcut.max_flow(np.zeros(shape, int), 1, NEAR, device=device), []


def solver_cut(seed, device):
    source, sink, edges = capacities(seed)
    solver = gridcut.Solver(source, sink, edges, device=device)
    solver.solve()
    solver.update(source=source[::-1].copy())
    return solver.solve(), []


def graph_cut(seed, device, *, factor=1, symmetric=False):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((24, 24)) < 0.2, rng.integers(1, 7, (24, 24)), 0)
    np.fill_diagonal(dense, 0)
    graph = scipy.sparse.csr_array((dense + dense.T if symmetric else dense) * factor)
    source, sink = rng.integers(0, 20, (2, 24)) * factor
    return gridcut.graph_max_flow(graph, source, sink), [source, sink, graph.data]


def batch(seed, device, *, factor=1, large=0):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 20, (3, *SHAPE)) * factor
    sink = rng.integers(0, 20, SHAPE) * factor
    if large:
        source, sink = source + large, sink + large
    return gridcut.max_flow_batch(source, sink, {(0, 1): rng.integers(0, 7, (3, *SHAPE)), (1, 0): 2}, device=device), [
        source,
        sink,
    ]


def batch_item(seed, device):
    return batch(seed, device)[0][1], []


def costs(seed, count=4, shape=SHAPE, factor=1):
    rng = np.random.default_rng(seed)
    weights = {offset: rng.integers(1, 6, shape) * factor for offset in NEAR}
    return rng.integers(0, 30, (count, *shape)) * factor, weights


def expansion(seed, device, *, factor=1):
    unary, weights = costs(seed, factor=factor)
    cost = np.minimum(DISTANCE, 2) * factor
    return gridcut.alpha_expansion(unary, weights, cost, device=device), [cost]


def swap(seed, device):
    unary, weights = costs(seed)
    cost = np.minimum(DISTANCE**2, 5)
    return gridcut.alpha_beta_swap(unary, weights, cost, device="cpu"), [cost]


def label_solver(seed, device):
    unary, weights = costs(seed)
    solver = gridcut.LabelSolver(unary, weights, DISTANCE)
    solver.solve()
    solver.update(unary=unary[:, ::-1].copy())
    return solver.solve(), []


def convex(seed, device, *, factor=1, shape=None):
    rng = np.random.default_rng(seed)
    if shape is None:
        unary, weights = costs(seed, factor=factor)
    else:
        unary, weights = rng.integers(0, 30, (4, *shape)), {(0, 0, 1): rng.integers(1, 5, shape), (1, 0, 0): 2}
    cost = DISTANCE * factor
    return gridcut.convex_labels(unary, weights, cost, device=device), [unary, cost]


def energy(seed, *, triples=False, factor=1, submodular=True):
    rng = np.random.default_rng(seed)
    pairwise = {}
    for offset in NEAR:
        table = rng.integers(-9, 9, (2, 2, *SHAPE))
        if submodular:
            gain = table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1]
            table[0, 1] += np.maximum(-gain, 0)
        pairwise[offset] = table * factor
    triple = {}
    if triples:
        table = np.zeros((2, 2, 2, *SHAPE), int)
        table[1, 1, 1] = rng.integers(-9, 0, SHAPE)
        triple[(0, 1), (1, 0)] = table * factor
    return gridcut.BinaryEnergy(rng.integers(-20, 20, (2, *SHAPE)) * factor, pairwise, triple)


def arrays_of(given):
    return [given.unary, *given.pairwise.values(), *given.triple.values()]


def binary(seed, device, **changes):
    given = energy(seed, **changes)
    return gridcut.binary_minimum(given, device=device), arrays_of(given)


def roof(seed, device, **changes):
    given = energy(seed, **changes)
    return gridcut.roof_duality(given, device=device), arrays_of(given)


# name -> make(seed, device): a result, and those of the caller's arrays any entry of which counts
RESULTS = {
    "cut": cut,
    "cut, float": lambda seed, device: cut(seed, device, factor=0.37),
    "cut, line": lambda seed, device: cut(seed, device, shape=(17,), offsets=[(1,)]),
    "cut, volume": lambda seed, device: cut(seed, device, shape=(3, 4, 5), offsets=[(0, 0, 1), (0, 1, 0), (1, 0, 0)]),
    "cut, 64 bits": lambda seed, device: cut(seed, device, factor=2**50),
    "cut, masked": masked_cut,
    "cut, no pixels": empty_cut,
    "cut of a Solver": solver_cut,
    "cut of a batch": batch_item,
    "batch": batch,
    "batch, float": lambda seed, device: batch(seed, device, factor=0.37),
    "batch, beyond 64 bits": lambda seed, device: batch(seed, device, large=2**60),
    "expansion": expansion,
    "expansion, float": lambda seed, device: expansion(seed, device, factor=0.37),
    "swap": swap,
    "LabelSolver": label_solver,
    "binary": binary,
    "binary, triples": lambda seed, device: binary(seed, device, triples=True),
    "binary, float": lambda seed, device: binary(seed, device, factor=0.37),
    "convex": convex,
    "convex, float": lambda seed, device: convex(seed, device, factor=0.37),
    "convex, volume": lambda seed, device: convex(seed, device, shape=(3, 3, 2)),
    "roof, open": lambda seed, device: roof(seed, device, submodular=False),
    "roof, decided": roof,
    "roof, float": lambda seed, device: roof(seed, device, submodular=False, factor=0.37),
}
ON_GPU = tuple(RESULTS)
RESULTS |= {
    "graph": graph_cut,
    "graph, symmetric": lambda seed, device: graph_cut(seed, device, symmetric=True),
    "graph, float": lambda seed, device: graph_cut(seed, device, factor=0.37),
    "graph, 64 bits": lambda seed, device: graph_cut(seed, device, factor=2**50),
}


def changed(array):
    """Named changes of an argument any entry of which counts."""
    for place in (0, array.size // 2):
        wrong = array.copy()
        wrong.reshape(-1)[place] = array.reshape(-1)[place] + 1 if array.reshape(-1)[place] <= 0 else 0
        yield f"entry {place} changed", wrong
