"""Random multi-label energies for every function that minimises them; the reference enumerates all labellings.

Energies are Python integers or exact floats (multiples of a power of two), computed term by term."""

from itertools import product
from typing import NamedTuple

import numpy as np

STEP = 2.0**-4  # of float costs


class Energy(NamedTuple):
    """Arguments of the label functions."""

    name: str
    unary: np.ndarray
    weights: dict
    cost: np.ndarray | None

    @property
    def shape(self):
        return self.unary.shape[1:]

    @property
    def is_float(self):
        arrays = [self.unary, *self.weights.values(), *([] if self.cost is None else [self.cost])]
        return any(np.asarray(array).dtype.kind == "f" for array in arrays)


def is_rare(energy) -> bool:
    """Whether an energy needs kernels for another number of neighbours than those of two offsets.

    Kernels are compiled once for each; the quick tier leaves these out.  `energy`: also a BinaryEnergy, whose triples
    add neighbours, and whose roof dual has twelve arcs per pixel, which are compiled for integers only.
    """
    if hasattr(energy, "weights"):
        return len(energy.weights) != 2
    return len(energy.pairwise) != 2 or bool(energy.triple) or energy.unary.dtype.kind == "f"


def places(shape, offset):
    """Pairs (p, q) of pixels as index tuples with q = p + offset inside the grid."""
    for p in np.ndindex(shape):
        q = tuple(i + o for i, o in zip(p, offset, strict=True))
        if all(0 <= i < d for i, d in zip(q, shape, strict=True)):
            yield p, q


def energy_by_terms(labels, energy: Energy):
    """Energy of one labelling: one term after the other."""
    labels = np.asarray(labels).reshape(energy.shape)
    total = 0
    for p in np.ndindex(energy.shape):
        total += energy.unary[(int(labels[p]), *p)].item()
    for offset, weight in energy.weights.items():
        offset = tuple(np.atleast_1d(offset).tolist())
        weight = np.broadcast_to(np.asarray(weight), energy.shape)
        for p, q in places(energy.shape, offset):
            a, b = int(labels[p]), int(labels[q])
            cost = int(a != b) if energy.cost is None else np.asarray(energy.cost)[a, b].item()
            total += weight[p].item() * cost
    return total


def all_energies(energy: Energy) -> dict:
    """{labelling as a tuple: its energy}"""
    pixels = int(np.prod(energy.shape))
    return {labels: energy_by_terms(labels, energy) for labels in product(range(len(energy.unary)), repeat=pixels)}


def expansions(labels, label):
    """All labellings that one expansion of a label reaches."""
    return product(*({own, label} for own in labels))


def swaps(labels, one, other):
    return product(*({one, other} if own in (one, other) else {own} for own in labels))


def not_improved(labels, energies: dict, moves) -> str | None:
    """Describe a move that lowers the energy of a labelling, or None; moves: functions labels -> labellings."""
    for number, move in enumerate(moves):
        best = min(energies[x] for x in move(labels))
        if best < energies[labels]:
            return f"move {number} leads from {energies[labels]} to {best}"
    return None


def expansion_moves(count):
    return [lambda labels, a=a: expansions(labels, a) for a in range(count)]


def swap_moves(count):
    return [lambda labels, a=a, b=b: swaps(labels, a, b) for a in range(count) for b in range(a)]


COSTS = {
    "Potts": lambda n: None,
    "linear": lambda n: np.abs(np.subtract.outer(range(n), range(n))),
    "truncated": lambda n: np.minimum(np.abs(np.subtract.outer(range(n), range(n))), 2),
    "zero": lambda n: np.zeros((n, n), int),
}
NOT_METRIC = {"squares": lambda n: np.subtract.outer(range(n), range(n)) ** 2}
GRIDS = [  # labels, shape, offsets
    (3, (6,), [(1,)]),
    (2, (3, 3), [(0, 1), (1, 0)]),
    (3, (2, 3), [(0, 1), (1, 0), (1, 1)]),
    (4, (2, 2), [(0, 1), (-1, 0)]),
    (2, (2, 2, 2), [(0, 0, 1), (0, 1, 0), (1, 0, 0)]),
    (3, (5,), []),
    (3, (1,), [(1,)]),
    (1, (4,), [(1,)]),
    (2, (1, 1), []),
    (2, (1, 1, 1), []),
    (3, (4,), [(9,)]),
    (2, (2, 1, 3), []),
]


def random_instance(rng, count, shape, offsets, cost: str, is_float: bool) -> Energy:
    unary = rng.integers(-9, 20, (count, *shape))
    weights = {o: rng.integers(0, 8, shape) if rng.random() < 0.8 else int(rng.integers(0, 8)) for o in offsets}
    table = (COSTS | NOT_METRIC)[cost](count)
    if is_float:
        unary = unary * STEP
        weights = {offset: weight * STEP for offset, weight in weights.items()}
    kinds = "floats" if is_float else "integers"
    return Energy(f"{count} labels, {shape}, {offsets}, {cost}, {kinds}", unary, weights, table)


def random_energy(seed: int, convex=False) -> Energy:
    rng = np.random.default_rng(seed)
    grids = [grid for grid in GRIDS if grid[0] > 1] if convex else GRIDS
    count, shape, offsets = grids[rng.integers(len(grids))]
    names = ["linear", "squares", "zero"] if convex else list(COSTS | NOT_METRIC)
    return random_instance(rng, count, shape, offsets, rng.choice(names), rng.random() < 0.3)


def table():
    rng = np.random.default_rng(1998)
    for i, (count, shape, offsets) in enumerate(GRIDS):
        for j, cost in enumerate(COSTS):
            yield random_instance(rng, count, shape, offsets, cost, (i + j) % 3 == 0)


# Binary energies


def binary_terms(energy):
    """All terms of a BinaryEnergy as (pixels, table over their labels)."""
    for p in np.ndindex(energy.shape):
        yield (p,), energy.unary[(slice(None), *p)]
    for offset, table in energy.pairwise.items():
        table = np.broadcast_to(table, (2, 2, *energy.shape))
        for p, q in places(energy.shape, offset):
            yield (p, q), table[(slice(None), slice(None), *p)]
    for (a, b), table in energy.triple.items():
        table = np.broadcast_to(table, (2, 2, 2, *energy.shape))
        second = dict(places(energy.shape, b))
        for p, q in places(energy.shape, a):
            if p in second:
                yield (p, q, second[p]), table[(slice(None), slice(None), slice(None), *p)]


def binary_energies(energy) -> dict:
    """{labelling as a tuple: its energy}"""
    terms = list(binary_terms(energy))
    numbers = {p: i for i, p in enumerate(np.ndindex(energy.shape))}
    found = {}
    for labels in product((0, 1), repeat=len(numbers)):
        found[labels] = sum(table[tuple(labels[numbers[p]] for p in pixels)].item() for pixels, table in terms)
    return found


BINARY_GRIDS = [
    ((1,), [(1,)], []),
    ((6,), [(1,), (2,)], [((1,), (2,))]),
    ((3, 3), [(0, 1), (1, 0)], [((0, 1), (1, 0))]),
    ((2, 2, 2), [(0, 0, 1), (0, 1, 0), (1, 0, 0)], []),
    ((2, 2, 2), [], []),
    ((4,), [], []),
]


def regular_triple(rng, shape):
    """A cubic coefficient of either sign, and pairs negative enough for it."""
    cubic = rng.integers(-6, 7, shape)
    constant, *linear = rng.integers(-5, 6, (4, *shape))
    pairs = [-np.maximum(cubic, 0) - rng.integers(0, 5, shape) for _ in range(3)]
    table = np.zeros((2, 2, 2, *shape), int)
    for x, y, z in np.ndindex(2, 2, 2):
        table[x, y, z] = constant + x * linear[0] + y * linear[1] + z * linear[2]
        table[x, y, z] += x * y * pairs[0] + x * z * pairs[1] + y * z * pairs[2] + x * y * z * cubic
    return table


def random_binary(rng, submodular: bool, triples: bool, is_float: bool, high: int = 9) -> dict:
    """Arguments of a BinaryEnergy."""
    grids = [grid for grid in BINARY_GRIDS if grid[2]] if triples else BINARY_GRIDS
    shape, offsets, pairs = grids[rng.integers(len(grids))]
    scale = STEP if is_float else 1
    pairwise = {}
    for offset in offsets:
        table = rng.integers(-high, high, (2, 2, *shape))
        if submodular:
            gain = table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1]
            table[0, 1] += np.maximum(-gain, 0)
        pairwise[offset] = table * scale
    triple = {}
    for pair in pairs if triples else []:
        triple[pair] = regular_triple(rng, shape) * scale
    return {"unary": rng.integers(-high, high, (2, *shape)) * scale, "pairwise": pairwise, "triple": triple}
