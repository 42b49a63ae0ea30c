"""Solvers that keep state, what may be changed in each, and what is right afterwards, by oracles of their own.

A subject makes a solver from a reference (all costs, as the caller knows them), applies changes to references, and
judges results: `wrong` returns what is wrong with a result, None if nothing is.
"""

import numpy as np
import scipy.sparse

import gridcut
from tests.gridcut.oracles import drawn, graph_cut, solve_by_oracle, wrong

SHAPE = (14, 15)
OFFSETS = [(0, 1), (1, -1)]
MUCH = 2**16
STAGES = ("before", "between", "after")  # any solve; a change and its solve; a solve


class Subject:
    """A kind of solver with its first costs `start`, and `changes`: arguments of `update`, by name.

    undo(change)   arguments of `update` that set what a change of `start` has changed to what it was
    """

    def __init__(self, name, start, changes):
        self.name, self.start, self.changes = name, start, changes
        self._answers, self._after = {}, {}

    def at(self, stage):
        """A solver at a stage, and its current costs."""
        solver = self.make(self.start)
        if stage == "before":
            return solver, self.start
        solver.solve()
        if stage == "after":
            return solver, self.start
        change = next(iter(self.changes.values()))
        solver.update(**change)
        return solver, self.updated(self.start, change)

    def after(self, change):
        """The costs after a change of `start`, always the same object."""
        if change not in self._after:
            self._after[change] = self.updated(self.start, self.changes[change])
        return self._after[change]

    def answer(self, reference, find):
        """find(reference), found once."""
        if id(reference) not in self._answers:
            self._answers[id(reference)] = reference, find(reference)
        return self._answers[id(reference)][1]


class Grids(Subject):
    """Solver; `how` are further arguments."""

    def __init__(self, name, start, changes, **how):
        super().__init__(name, start, changes)
        self.how = how

    def make(self, reference):
        return gridcut.Solver(*reference.arguments, mask=reference.mask, **{"device": "cpu", **self.how})

    def updated(self, reference, change):
        return self._changed(reference, **change)

    def _changed(self, reference, source=None, sink=None, edges=None, where=...):
        values = {}
        for name, new in (("source", source), ("sink", sink)):
            if new is not None:
                old = np.array(getattr(reference, name))
                values[name] = old.astype(np.promote_types(old.dtype, np.asarray(new).dtype))
                values[name][where] = new
        return reference._replace(edges={**reference.edges, **(edges or {})}, **values)

    def undo(self, change):
        where = change.get("where", ...)
        old = {name: getattr(self.start, name) for name in change if name != "where"}
        old = {name: values if name == "edges" else values[where] for name, values in old.items()}
        return old if where is ... else old | {"where": where}

    def solved(self, reference):
        """The oracle's answer; of larger sources, as much as no pixel can pass on."""
        number = np.int64 if reference.scale is None else np.float64
        return solve_by_oracle(reference._replace(source=np.minimum(np.asarray(reference.source, number), MUCH)))

    def wrong(self, cut, reference):
        found = wrong(cut, reference, self.answer(reference, self.solved))
        if found is None:
            cut.check()
        return found


class Graph(Subject):
    """GraphSolver; a reference is (graph, source, sink)."""

    def make(self, reference):
        return gridcut.GraphSolver(*reference)

    def updated(self, reference, change):
        graph, source, sink = reference
        if "capacity" in change:
            graph = graph.copy()
            graph.data = np.array(getattr(change["capacity"], "data", change["capacity"]))
        return graph, change.get("source", source), change.get("sink", sink)

    def undo(self, change):
        return {name: dict(zip(("capacity", "source", "sink"), self.start, strict=True))[name] for name in change}

    def value(self, reference):
        return graph_cut(*reference)[0]

    def wrong(self, cut, reference):
        expected = self.answer(reference, self.value)
        if cut.value != expected:
            return f"value {cut.value}, SciPy says {expected}"
        cut.check()
        return None


class Labels(Subject):
    """LabelSolver; a reference is (unary, weights, label_cost); `how` are further arguments."""

    def __init__(self, name, start, changes, **how):
        super().__init__(name, start, changes)
        self.how = how

    def make(self, reference):
        return gridcut.LabelSolver(*reference, **self.how)

    def updated(self, reference, change):
        unary, weights, cost = reference
        return change.get("unary", unary), change.get("weights", weights), cost

    def undo(self, change):
        return {name: dict(zip(("unary", "weights"), self.start, strict=False))[name] for name in change}

    def energy(self, labels, reference):
        unary, weights, cost = reference
        energy = np.take_along_axis(np.asarray(unary), labels[None].astype(int), 0).sum()
        for (y, x), weight in weights.items():
            a = labels[: len(labels) - y, : labels.shape[1] - x]
            b = labels[y:, x:]
            pair = a != b if cost is None else np.asarray(cost)[a, b]
            energy += (np.broadcast_to(weight, labels.shape)[: len(a), : a.shape[1]] * pair).sum()
        return energy

    def wrong(self, result, reference):
        energy = self.energy(result.labels, reference)
        if not np.isclose(result.energy, energy, rtol=1e-12, atol=0):
            return f"energy {result.energy}, the sum of its terms is {energy}"
        result.check()  # each move by a cut of its own; the last ones show that none of them lowers the energy
        return None if result.stats["converged"] else "not converged"


def grids():
    rng = np.random.default_rng(41)
    few = (rng.integers(0, SHAPE[0], 6), rng.integers(0, SHAPE[1], 6))
    some = rng.random(SHAPE) < 0.2

    def instance(dtype=np.int32, **how):
        return drawn(rng, SHAPE, OFFSETS, dtype, directed=True, high=30, **how)

    def terminals(dtype=np.int32, step=1):
        return (rng.integers(0, 30, SHAPE) * step).astype(dtype)

    def changes(start, dtype=np.int32, step=1):
        one = dict(list(start.edges.items())[:1])
        one = {offset: np.where(rng.random(SHAPE) < 0.1, dtype(step), values) for offset, values in one.items()}
        return {
            "few pixels": {"source": terminals(dtype, step)[few], "sink": terminals(dtype, step)[few], "where": few},
            "mask of pixels": {"source": terminals(dtype, step)[some], "where": some},
            "one terminal": {"sink": terminals(dtype, step)},
            "terminals and some edges": {
                "source": terminals(dtype, step),
                "sink": terminals(dtype, step),
                "edges": one,
            },
            "all edges": {"edges": {offset: terminals(dtype, step) for offset in start.edges}},
        }

    plain = instance()
    yield Grids("small", plain, changes(plain))
    yield Grids("push_relabel", plain, changes(plain), method="push_relabel")
    yield Grids("lock_free", plain, changes(plain), method="lock_free", threads=2)
    masked = instance(mask="random")
    yield Grids("masked", masked, changes(masked))
    floats = instance(np.float64)
    yield Grids("floats", floats, changes(floats, np.float64, 2.0**-3))
    clamped = floats._replace(source=np.where(rng.random(SHAPE) < 0.1, np.inf, floats.source))
    yield Grids("clamped", clamped, changes(clamped, np.float64, 2.0**-3))
    narrow = instance(np.uint8)
    wide = {"wider integers": {"source": terminals(np.int64) * 10**9, "edges": {(0, 1): terminals(np.uint16)}}}
    yield Grids("narrow", narrow, wide | changes(narrow, np.uint8))
    undirected = drawn(rng, SHAPE, OFFSETS, directed=False, high=30)
    yield Grids("undirected", undirected, changes(undirected))


def graphs():
    rng = np.random.default_rng(42)
    n = 60
    graph = scipy.sparse.csr_array((rng.integers(1, 30, 240), rng.integers(0, n, (2, 240))), shape=(n, n))
    source, sink = rng.integers(0, 30, (2, n))

    def changes(scale=1):
        few = source * scale
        few[:2] += 20 * scale
        new = graph.copy() * scale
        new.data[:4] = 0
        return {
            "few nodes": {"source": few},
            "few entries": {"capacity": new.data},
            "a graph and a terminal": {"capacity": new, "sink": rng.integers(0, 30, n) * scale},
            "everything": {
                "source": rng.integers(0, 30, n) * scale,
                "sink": rng.integers(0, 30, n) * scale,
                "capacity": rng.integers(0, 30, graph.nnz) * scale,
            },
        }

    yield Graph("graph", (graph, source, sink), changes())
    floats = changes(1.0)
    yield Graph("graph of floats", (graph * 1.0, source * 1.0, sink * 1.0), floats)
    wide = {"wider integers": {"source": rng.integers(0, 10**7, n)}}
    yield Graph("narrow graph", (graph, source, sink), wide | changes())


def labels():
    rng = np.random.default_rng(43)
    shape, count = (7, 8), 4
    cost = np.minimum(np.abs(np.subtract.outer(range(count), range(count))), 2)

    def unary(dtype=np.int64):
        return rng.integers(0, 30, (count, *shape)).astype(dtype)

    def weights(dtype=np.int64):
        return {(0, 1): rng.integers(0, 9, shape).astype(dtype), (1, 0): dtype(5)}

    def changes(start, dtype=np.int64):
        few = start[0].copy()
        few[:, 2:4, 3] = unary(dtype)[:, 2:4, 3]
        return {
            "few pixels": {"unary": few},
            "all pixels": {"unary": unary(dtype)},
            "weights": {"weights": weights(dtype)},
            "everything": {"unary": unary(dtype), "weights": weights(dtype)},
        }

    potts = unary(), weights(), None
    yield Labels("labels", potts, changes(potts) | {"floats": {"unary": unary(np.float64) / 3}})
    metric = unary(np.float64) / 7, weights(np.float64), cost / 3
    yield Labels("labels of floats", metric, changes(metric, np.float64), order=[2, 0, 1, 3], restarts=1)


def large():
    """Subjects whose calls take long enough to be interrupted."""
    rng = np.random.default_rng(44)
    shape = (90, 100)
    start = drawn(rng, shape, [(0, 1), (1, 0)], directed=True, high=60)
    few = tuple(rng.integers(0, side, 300) for side in shape)
    first = (0, 1)
    yield Grids(
        "large",
        start,
        {
            "few pixels": {"source": rng.integers(0, 60, 300, np.int32), "where": few},
            "terminals": {"source": rng.integers(0, 60, shape), "sink": rng.integers(0, 60, shape)},
            "some edges": {"edges": {first: np.where(rng.random(shape) < 0.05, 0, start.edges[first])}},
            "all edges": {"edges": {offset: rng.integers(0, 60, shape) for offset in start.edges}},
            "everything": {"source": rng.integers(0, 60, shape), "edges": {first: rng.integers(0, 60, shape)}},
        },
    )
    n = 4000
    graph = scipy.sparse.csr_array((rng.integers(1, 50, 4 * n), rng.integers(0, n, (2, 4 * n))), shape=(n, n))
    source, sink = rng.integers(0, 100, (2, n))
    less = graph.copy()
    less.data[:100] = 0
    more = source + 60 * (np.arange(n) < 200)
    yield Graph(
        "large graph",
        (graph, source, sink),
        {"few nodes": {"source": more}, "few entries": {"capacity": less}, "both": {"sink": more, "capacity": less}},
    )
    unary = rng.integers(0, 30, (2, 5, 40, 50))
    weights = {(0, 1): 5, (1, 0): 4}
    yield Labels(
        "large labels",
        (unary[0], weights, None),
        {"costs": {"unary": unary[1]}, "weights": {"weights": {(0, 1): 3, (1, 0): 7}}},
    )


SUBJECTS = {subject.name: subject for subject in (*grids(), *graphs(), *labels())}
ON_GPU = {
    name: Grids(name, SUBJECTS[name].start, SUBJECTS[name].changes, device="cuda", method=method)
    for name, method in {
        "small": "auto",
        "masked": "lock_free",
        "floats": "auto",
        "clamped": "auto",
        "narrow": "auto",
        "undirected": "hybrid",
    }.items()
}
LARGE = {subject.name: subject for subject in large()}
CASES = [(name, change) for name, subject in SUBJECTS.items() for change in subject.changes]
