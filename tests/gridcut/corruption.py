"""Results of every kind, and every way in which a field or an argument of one is falsified.

`survey` says which falsifications `check()` lets pass.  It holds no `assert`, so that it means the same under
``python -O``; run as a program it prints the counts and fails if one passes:

    python -O -m tests.gridcut.corruption
"""

import dataclasses
import sys
from collections import Counter

import numpy as np
import pytest
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


def named(results):
    """Their names as parameters; two with numbers of arcs for which kernels are rarely compiled are marked slow."""
    rare = ("convex, float", "roof, float")
    return [pytest.param(name, marks=pytest.mark.slow) if name in rare else name for name in results]


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
ON_CPU_ONLY = {
    "graph": graph_cut,
    "graph, symmetric": lambda seed, device: graph_cut(seed, device, symmetric=True),
    "graph, float": lambda seed, device: graph_cut(seed, device, factor=0.37),
    "graph, 64 bits": lambda seed, device: graph_cut(seed, device, factor=2**50),
}


def host(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def forged_arrays(array, other):
    """Named falsifications of an array."""
    for place in {0, array.size // 2, array.size - 1} if array.size else ():
        flipped = array.copy()
        flat = flipped.reshape(-1)
        flat[place] = not flat[place] if array.dtype == bool else flat[place] + 1
        yield f"entry {place} changed", flipped
        if array.dtype != bool:
            lowered = array.copy()
            lowered.reshape(-1)[place] -= 1
            yield f"entry {place} lowered", lowered
    yield "inverted", ~array if array.dtype == bool else -array - 1
    for axis in range(array.ndim):
        yield f"reversed along {axis}", np.flip(array, axis).copy()
        yield f"shifted along {axis}", np.roll(array, 1, axis)
    yield "permuted", np.random.default_rng(1).permutation(array.reshape(-1)).reshape(array.shape)
    yield "scaled", array * 2
    yield "zero", np.zeros_like(array)
    yield "transposed", array.T
    yield "of floats", array.astype(np.float32)
    if array.dtype != object:  # Python integers that fit nothing smaller
        yield "of small integers", array.astype(np.int16)
    yield "of objects", array.astype(object)
    yield "one axis more", array[None]
    yield "cut short", array[:-1]
    yield "a list", array.tolist()
    yield "nothing", None
    yield "of another problem", other


def forged_numbers(value, other):
    """Named falsifications of a number."""
    yield "one more", value + 1
    yield "one less", value - 1
    yield "a little more", value * (1 + 1e-6) + 1e-12
    yield "negated", -value
    yield "scaled", value * 2
    yield "halved", value / 2
    yield "of another kind", int(value) if isinstance(value, float) else float(value)
    yield "a NumPy array", np.array([value])
    yield "a text", str(value)
    yield "nan", float("nan")
    yield "inf", float("inf")
    yield "nothing", None
    yield "of another problem", other


def forged(value, other):
    if isinstance(value, np.ndarray):
        return forged_arrays(value, other)
    if dataclasses.is_dataclass(value):
        return forged_cuts(value, other)
    return forged_numbers(value, other)


def forged_cuts(value, other):
    """Falsifications of a result that is part of another."""
    yield "of another problem", other
    yield "another value", dataclasses.replace(value, value=value.value + 1)
    yield "other labels", dataclasses.replace(value, labels=~value.labels)


def same(one, other) -> bool:
    """Whether a falsification changed nothing."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    return type(one) is type(other) and one == other


def refuses(result) -> bool:
    """Whether check() raises CertificateError; any other exception is let through."""
    try:
        result.check()
    except gridcut.CertificateError:
        return True
    return False


def survey(name: str, device: str = "cpu") -> tuple[Counter, list[str]]:
    """How many falsifications of each field of one result were tried, and those that passed."""
    make = (RESULTS | ON_CPU_ONLY)[name]
    result, arguments = make(1, device)
    other, _ = make(2, device)
    result.check()
    tried, passed = Counter(), []

    def note(field, how, found):
        tried[field] += 1
        if not found:
            passed.append(f"{name}: {field} {how}")

    for field in PROVED[type(result).__name__]:
        value = getattr(result, field)
        value = value if np.isscalar(value) or dataclasses.is_dataclass(value) else host(value)
        theirs = getattr(other, field)
        theirs = theirs if np.isscalar(theirs) or dataclasses.is_dataclass(theirs) else host(theirs)
        for how, wrong in forged(value, theirs):
            if not same(value, wrong):
                note(field, how, refuses(dataclasses.replace(result, **{field: wrong})))
        if isinstance(value, np.ndarray) and value.flags.writeable and value is getattr(result, field):
            kept = value.copy()
            for how, wrong in forged_arrays(kept, theirs):
                fits = isinstance(wrong, np.ndarray) and wrong.dtype == kept.dtype and wrong.shape == kept.shape
                if fits and not same(kept, wrong):
                    value[...] = wrong
                    note(field, f"{how} in place", refuses(result))
            value[...] = kept
    result.check()
    for number, array in enumerate(arguments):
        for place in (0, array.size // 2):
            kept = array.reshape(-1)[place]
            array.reshape(-1)[place] = kept + (1 if kept <= 0 else -kept)
            if array.reshape(-1)[place] != kept:
                note(f"argument {number}", f"entry {place} changed", refuses(result))
            array.reshape(-1)[place] = kept
    result.check()
    return tried, passed


def main() -> int:
    tried, passed, fields = 0, [], 0
    names = RESULTS | ON_CPU_ONLY
    for name in names:
        found, let_through = survey(name)
        tried, passed = tried + found.total(), passed + let_through
        fields += sum(not field.startswith("argument") for field in found)
    print(f"{len(names)} results, {fields} fields, {tried} falsifications, {len(passed)} passed")
    print(*passed, sep="\n", end="")
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
