"""Instances, graphs, checkers and oracles for every solver of matching.

A bipartite instance is a shape and a list of edges (row, column), in which edges may occur twice.  A general instance
is a number of vertices and {(lower, higher): weight}.  The checkers are plain Python over these lists and share no
code with the package.
"""

from collections import Counter
from typing import NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_bipartite_matching


class Bipartite(NamedTuple):
    shape: tuple
    edges: list


class General(NamedTuple):
    n: int
    weight: dict


# Instances


def bipartite_instances() -> dict:
    """Small graphs of all structures that have been hard for matching algorithms."""
    steps = range(12)
    ladder = [(2 * i + a, 2 * i + b) for i in range(6) for a in (0, 1) for b in (0, 1, 2, 3) if 2 * i + b < 12]
    rope = [(r, r) for r in range(18)] + [(r, (r // 6 + 1) * 6 + k) for r in range(12) for k in range(6)]
    dead_ends = [(0, c) for c in range(8)] + [(r, r - 1) for r in range(1, 9)] + [(9, 7), (10, 7)]
    return {
        "0 x 0": Bipartite((0, 0), []),
        "0 x 5": Bipartite((0, 5), []),
        "5 x 0": Bipartite((5, 0), []),
        "1 x 1": Bipartite((1, 1), [(0, 0)]),
        "no edges": Bipartite((4, 3), []),
        "one edge": Bipartite((4, 3), [(2, 1)]),
        "row star": Bipartite((5, 9), [(2, c) for c in range(9)]),
        "column star": Bipartite((9, 5), [(r, 3) for r in range(9)]),
        "two stars": Bipartite((8, 8), [(0, c) for c in range(8)] + [(r, 0) for r in range(8)]),
        "path": Bipartite((12, 12), [(i, i) for i in steps] + [(i, i - 1) for i in steps if i]),
        "path against the order": Bipartite(
            (12, 12), [(11 - i, i) for i in steps] + [(11 - i, i - 1) for i in steps if i]
        ),
        "cycle": Bipartite((7, 7), [(i, i) for i in range(7)] + [(i, (i + 1) % 7) for i in range(7)]),
        "ladder": Bipartite((12, 12), ladder),
        "rope": Bipartite((18, 18), rope),
        "dead ends": Bipartite((11, 8), dead_ends),
        "band": Bipartite((15, 13), [(r, c) for r in range(15) for c in range(13) if -1 <= r - c <= 2]),
        "full": Bipartite((7, 9), [(r, c) for r in range(7) for c in range(9)]),
        "blocks": Bipartite((12, 10), [(r, c) for r in range(12) for c in range(10) if r % 3 == c % 3]),
        "anti-diagonal triangle": Bipartite((9, 9), [(r, c) for r in range(9) for c in range(9) if r + c >= 8]),
        "rows without edges": Bipartite((20, 6), [(r, r % 6) for r in range(0, 20, 4)]),
        "stored twice, unsorted": Bipartite((4, 4), [(3, 2), (0, 3), (0, 1), (3, 2), (0, 3), (1, 1), (2, 1), (0, 3)]),
    }


def general_instances() -> dict:
    """Small undirected graphs with weights over the whole ranges of both dtypes of weights."""
    path = [(i, i + 1) for i in range(15)]
    complete = [(v, w) for v in range(8) for w in range(v + 1, 8)]
    star = [(0, v) for v in range(1, 12)]
    grid = [(5 * i + j, 5 * i + j + 1) for i in range(5) for j in range(4)] + [(v, v + 5) for v in range(20)]
    limit = (2**63 - 1) // (2 * len(path) + 16)  # both directions, and the loops of one of the forms
    return {
        "no vertices": General(0, {}),
        "no edges": General(6, {}),
        "one edge": General(2, {(0, 1): 3}),
        "rising path": General(16, {e: k for k, e in enumerate(path)}),
        "falling path": General(16, {e: 20 - k for k, e in enumerate(path)}),
        "equal path": General(16, dict.fromkeys(path, 2)),
        "zeros": General(16, dict.fromkeys(path, 0)),
        "star": General(12, {e: k % 4 for k, e in enumerate(star)}),
        "complete": General(8, {e: (k * 7) % 11 for k, e in enumerate(complete)}),
        "grid": General(25, {e: (k * 5) % 13 for k, e in enumerate(grid)}),
        "two parts": General(14, {(0, 3): 1, (3, 5): 2, (0, 5): 2, (8, 9): 4, (9, 13): 5}),
        "int64 limit": General(16, {e: limit - k % 3 for k, e in enumerate(path)}),
        "float limit": General(16, {e: 1e306 * (1 + k % 3) for k, e in enumerate(path)}),
        "denormal": General(16, {e: 5e-324 * (1 + k % 3) for k, e in enumerate(path)}),
        "both ends of floats": General(16, {e: (5e-324, 1e306, 1.0)[k % 3] for k, e in enumerate(path)}),
        "neighbouring floats": General(16, {e: 1.0 + (k % 4) * 2.0**-52 for k, e in enumerate(path)}),
    }


def random_bipartite(rng, largest: int = 12) -> Bipartite:
    n, m = (int(size) for size in rng.integers(0, largest + 1, 2))
    kind = rng.choice(["random", "sparse", "band", "star", "blocks", "twice"])
    if kind == "band":
        chosen = np.abs(np.subtract.outer(np.arange(n), np.arange(m)) - int(rng.integers(-2, 3))) <= 1
    elif kind == "blocks":
        chosen = rng.integers(0, 3, (n, 1)) == rng.integers(0, 3, (1, m))
    else:
        chosen = rng.random((n, m)) < (1.5 / max(m, 1) if kind == "sparse" else rng.random())
    if kind == "star":
        chosen[2:, 2:] = False
    edges = [(int(r), int(c)) for r, c in zip(*np.nonzero(chosen), strict=True)]
    if kind == "twice" and edges:
        edges += [edges[int(k)] for k in rng.integers(0, len(edges), 5)]
    return Bipartite((n, m), [edges[k] for k in rng.permutation(len(edges))])


WEIGHTS = {
    "few": lambda rng: int(rng.integers(0, 4)),
    "wide": lambda rng: int(rng.integers(0, 10**9)),
    "int64": lambda rng: int(rng.integers(2**52, 2**53)),
    "float": lambda rng: float(rng.random()),
    "denormal": lambda rng: float(5e-324 * rng.integers(0, 5)),
    "huge": lambda rng: float(1e300 * rng.random()),
}


def random_general(rng, largest: int = 12) -> General:
    n = int(rng.integers(0, largest + 1))
    weigh = WEIGHTS[rng.choice(list(WEIGHTS))]
    density = rng.random() ** 2
    return General(n, {(v, w): weigh(rng) for v in range(n) for w in range(v + 1, n) if rng.random() < density})


# Forms


def bipartite_forms(instance: Bipartite) -> dict:
    """The same graph in all formats of SciPy, and as tuples of all dtypes of integers."""
    row, col = (np.array([e[i] for e in instance.edges], np.int32) for i in (0, 1))
    coo = sp.coo_array((np.ones(len(row), np.int8), (row, col)), shape=instance.shape)
    ones = sp.csr_array(coo)
    ones.data[:] = 1
    order = np.argsort(row, kind="stable")
    ptr = np.searchsorted(row[order], np.arange(instance.shape[0] + 1)).astype(np.int32)
    adj = col[order]
    unsorted = sp.csr_array((np.zeros(len(adj)), adj, ptr), shape=instance.shape)
    forms = {form: ones.asformat(form) for form in ("csr", "csc", "dia", "lil", "dok")}
    forms["bsr"] = sp.bsr_array(ones, blocksize=(1, 1))
    by_col = np.argsort(col, kind="stable")
    col_ptr = np.searchsorted(col[by_col], np.arange(instance.shape[1] + 1)).astype(np.int32)
    columns = sp.csc_array((np.zeros(len(row)), row[by_col], col_ptr), shape=instance.shape)
    forms |= {"coo with duplicates": coo, "csr with duplicates and zeros": unsorted, "csc with them": columns}
    forms |= {"csr_matrix": sp.csr_matrix(ones), "complex values": ones.astype(complex)}
    for kind in (np.int8, np.uint8, np.int16, np.int64, np.uint64, ">i4", ">u8"):
        forms[f"tuple of {np.dtype(kind)}"] = (ptr.astype(kind), adj.astype(kind), instance.shape)
    forms["tuple of lists"] = (ptr.tolist(), adj.tolist(), instance.shape)
    forms["strided"] = (np.repeat(ptr, 2)[::2], np.repeat(adj, 3)[::3], instance.shape)
    forms["longer than used"] = (ptr, np.r_[adj, np.full(3, -7, np.int32)], instance.shape)
    return forms


def general_forms(instance: General) -> dict:
    """A weighted graph in all formats of SciPy; DIA drops stored zeros and is omitted if there are any."""
    csr = csr_of(instance)
    forms = {form: csr.asformat(form) for form in ("csr", "csc", "coo", "lil", "dok")}
    forms["bsr"] = sp.bsr_array(csr, blocksize=(1, 1))
    if all(instance.weight.values()):
        forms["dia"] = csr.todia()
    forms["csr_matrix"] = sp.csr_matrix(csr)
    coo = csr.tocoo()
    backwards = np.argsort(-coo.row, kind="stable")
    forms["coo backwards"] = sp.coo_array((coo.data[backwards], (coo.row[backwards], coo.col[backwards])), csr.shape)
    reverse = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)] or [[]])
    reverse = reverse.astype(np.int64)
    forms["unsorted"] = sp.csr_array((csr.data[reverse], csr.indices[reverse], csr.indptr), csr.shape)
    loops = np.full(instance.n, 1, csr.dtype)
    forms["with loops"] = sp.csr_array(
        (np.r_[coo.data, loops], (np.r_[coo.row, np.arange(instance.n)], np.r_[coo.col, np.arange(instance.n)])),
        csr.shape,
    )
    return forms


def csr_of(instance: General) -> sp.csr_array:
    lower, upper = (np.array([e[i] for e in instance.weight], np.int32) for i in (0, 1))
    floats = any(isinstance(x, float) for x in instance.weight.values())
    data = np.array(list(instance.weight.values()), np.float64 if floats else np.int64)
    both = np.r_[lower, upper], np.r_[upper, lower]
    return sp.csr_array((np.r_[data, data], both), shape=(instance.n, instance.n))


def weighted_csr(instance: Bipartite, rng) -> sp.csr_array:
    """A bipartite instance with weights; each copy of an edge stored twice has its own weight."""
    edges = sorted(instance.edges)
    ptr = np.searchsorted([r for r, _ in edges], np.arange(instance.shape[0] + 1))
    data = rng.integers(0, 10**9, len(edges))
    return sp.csr_array((data, np.array([c for _, c in edges], np.int32), ptr), shape=instance.shape)


# Malformed


def _csr(indptr, indices, shape=(3, 3), kind=sp.csr_array, dtype=np.int32):
    """A compressed matrix as SciPy's constructor accepts it."""
    return kind((np.ones(len(indices)), np.array(indices, dtype), np.array(indptr, dtype)), shape=shape)


def _changed(matrix, **attributes):
    for name, value in attributes.items():
        setattr(matrix, name, value)
    return matrix


def _lil(column):
    matrix = sp.lil_array((3, 3))
    matrix.rows[0], matrix.data[0] = [column], [1.0]
    return matrix


def malformed() -> dict:
    """Sparse matrices with indices or pointers that do not fit, all accepted by SciPy's constructors."""
    good = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    cases = {
        "pointer far beyond": _csr([0, 1_000_000, 3, 4], [1, 0, 2, 1]),
        "pointer beyond": _csr([0, 9, 3, 4], [1, 0, 2, 1]),
        "pointer below 0": _csr([0, -2, 3, 4], [1, 0, 2, 1]),
        "pointers fall": _csr([0, 3, 1, 4], [1, 0, 2, 1]),
        "pointers fall, int64": _csr([0, 3, 1, 4], [1, 0, 2, 1], dtype=np.int64),
        "index far beyond": _csr([0, 1, 3, 4], [1, 5_000_000, 2, 1]),
        "index beyond": _csr([0, 1, 3, 4], [1, 3, 2, 1]),
        "index below 0": _csr([0, 1, 3, 4], [1, -1, 2, 1]),
    }
    cases |= {f"csc: {name}": sp.csc_array(matrix.T, copy=False) for name, matrix in cases.items()}
    blocks = sp.bsr_array(np.ones((4, 4)), blocksize=(2, 2))
    cases["bsr: block far beyond"] = _changed(blocks.copy(), indices=np.array([0, 5_000_000, 0, 1], np.int32))
    cases["bsr: pointers fall"] = _changed(blocks.copy(), indptr=np.array([0, 7, 4], np.int32))
    cases["bsr: blocks are missing"] = _changed(blocks.copy(), data=np.ones((1, 2, 2)))
    cases["coo: row beyond"] = _changed(good.tocoo(), row=np.array([0, 0, 1, 1, 2, 99], np.int32))
    cases["coo: column below 0"] = _changed(good.tocoo(), col=np.array([1, 2, 0, 2, 0, -9], np.int32))
    cases["coo: values are missing"] = _changed(good.tocoo(), data=np.ones(2))
    cases["lil: column beyond"] = _lil(7_000_000)
    cases["lil: column below 0"] = _lil(-1)
    cases["lil: values are missing"] = _changed(_lil(1), data=np.array([[], [], []], object))
    cases["csr: values are missing"] = _changed(good.copy(), data=np.ones(2))
    return cases


# Checkers


def check_maximum(instance: Bipartite, row_match, col_match, cardinality, cover) -> None:
    """Check a matching of the instance, and König's cover of the same size."""
    edges = set(instance.edges)
    row_match, col_match = np.asarray(row_match).tolist(), np.asarray(col_match).tolist()
    assert (len(row_match), len(col_match)) == instance.shape
    pairs = [(r, c) for r, c in enumerate(row_match) if c != -1]
    assert pairs == sorted((r, c) for c, r in enumerate(col_match) if r != -1)
    assert set(pairs) <= edges
    assert len({c for _, c in pairs}) == len(pairs) == cardinality
    rows, cols = (set(np.asarray(side).tolist()) for side in cover)
    assert len(rows) + len(cols) == cardinality
    assert all(r in rows or c in cols for r, c in edges)


def largest_by_scipy(instance: Bipartite) -> int:
    row, col = np.array(instance.edges, int).reshape(-1, 2).T
    return best_cardinality(pattern(row, col, instance.shape))


def heaviest_first(instance: General) -> dict:
    """Algorithm 2 of Fagginger Auer and Bisseling: edges by weight, then by (lower vertex, upper vertex)."""
    partner = {}
    for v, w in sorted(instance.weight, key=lambda e: (-instance.weight[e], e)):
        if v not in partner and w not in partner:
            partner[v], partner[w] = w, v
    return partner


def check_greedy(instance: General, partner, size, weight, in_order: bool) -> None:
    """Check a maximal matching of this size and weight; `in_order`: the one that takes the heaviest edges first."""
    partner = np.asarray(partner).tolist()
    assert len(partner) == instance.n
    assert all(w == -1 or (0 <= w < instance.n and w != v and partner[w] == v) for v, w in enumerate(partner))
    pairs = [(v, w) for v, w in enumerate(partner) if v < w]
    assert all(e in instance.weight for e in pairs)
    assert all(partner[v] != -1 or partner[w] != -1 for v, w in instance.weight)
    assert size == len(pairs)
    total = 0
    for e in pairs:
        total += instance.weight[e]
    assert weight == total
    if in_order:
        assert {v: w for v, w in enumerate(partner) if w != -1} == heaviest_first(instance)


def contracted(instance: General, label) -> dict:
    """The weights of the edges between each pair of clusters."""
    edges = {}
    for (v, w), x in sorted(instance.weight.items()):
        if label[v] != label[w]:
            edges.setdefault(tuple(sorted((int(label[v]), int(label[w])))), []).append(x)
    return edges


def components(instance: General) -> list:
    graph = nx.Graph()
    graph.add_nodes_from(range(instance.n))
    graph.add_edges_from(instance.weight)
    return [sorted(part) for part in nx.connected_components(graph)]


def check_block_form(instance: Bipartite, found) -> None:
    """Check a permutation to block upper triangular form, whose coarse parts follow the definition."""
    n, m = instance.shape
    rows, cols = found.row_perm.tolist(), found.col_perm.tolist()
    assert (sorted(rows), sorted(cols)) == (list(range(n)), list(range(m)))
    block_of_row = {r: k for k in range(found.blocks) for r in rows[found.row_start[k] : found.row_start[k + 1]]}
    block_of_col = {c: k for k in range(found.blocks) for c in cols[found.col_start[k] : found.col_start[k + 1]]}
    assert all(block_of_row[r] <= block_of_col[c] for r, c in instance.edges)
    largest = largest_by_scipy(instance)
    assert found.structural_rank == largest
    for r in range(n):  # in the vertical part: some maximum matching leaves this row free
        without = largest_by_scipy(instance._replace(edges=[e for e in instance.edges if e[0] != r])) == largest
        assert (found.row_part[r] == 2) == without
    for c in range(m):
        without = largest_by_scipy(instance._replace(edges=[e for e in instance.edges if e[1] != c])) == largest
        assert (found.col_part[c] == 0) == without


class Tally(Counter):
    """The number of results compared with each oracle."""

    def __str__(self):
        return ", ".join(f"{oracle}: {number}" for oracle, number in sorted(self.items()))


# Bipartite graphs as SciPy's matrices


def pattern(row, col, shape):
    """A SciPy sparse array with these entries, each once."""
    matrix = sp.csr_array((np.ones(len(row), np.int8), (row, col)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def best_cardinality(matrix):
    """The cardinality of a maximum matching, by SciPy."""
    if 0 in matrix.shape:
        return 0
    return int((maximum_bipartite_matching(sp.csr_array(matrix), "column") >= 0).sum())


def random_graph(rng, largest=16):
    """A small graph of one of many kinds, rectangular or square, often with empty rows and columns."""
    instance = random_bipartite(rng, largest)
    row, col = np.array(instance.edges, int).reshape(-1, 2).T
    return pattern(row, col, instance.shape)


def random_start(graph, rng):
    """A matching of some rows, each with a random free column."""
    start, taken = np.full(graph.shape[0], -1), set()
    for r in rng.permutation(graph.shape[0])[: rng.integers(0, graph.shape[0] + 1)]:
        columns = [c for c in graph.indices[graph.indptr[r] : graph.indptr[r + 1]].tolist() if c not in taken]
        if columns:
            start[r] = rng.choice(columns)
            taken.add(int(start[r]))
    return start


def permuted(matrix, rng):
    """The same graph with rows and columns in random order."""
    matrix = sp.coo_array(matrix)
    n, m = matrix.shape
    return pattern(rng.permutation(n)[matrix.row], rng.permutation(m)[matrix.col], (n, m))


def path(length):
    """A path whose only maximum matching takes every other edge; rows that choose greedily take the other edges."""
    k = np.arange(length)
    return pattern(np.r_[k, k[:-1]], np.r_[k, k[1:]], (length, length))


def ladder(length):
    """Layers of two rows adjacent to both columns of the next layer, all dead ends; and a chain to a free column."""
    step = np.arange(length - 1)
    row = [np.arange(2 * length)]
    col = [np.arange(2 * length)]
    for i in range(2):
        for j in range(2):
            row.append(2 * step + i)
            col.append(2 * step + 2 + j)
    chain = 2 * length
    k = np.arange(2 * length)
    last = chain + len(k)
    row += [chain + k, chain + k[:-1], np.array([last] * 3), np.array([last - 1])]
    col += [chain + k, chain + k[1:], np.array([0, 1, chain]), np.array([last])]
    return pattern(np.concatenate(row), np.concatenate(col), (last + 1, last + 1))


def rope(blocks, rng):
    """Blocks of 6 in a line: each row is adjacent to its own column and to all of the next block; columns permuted."""
    r = np.arange(6 * blocks)
    row, col = [r], [r]
    for k in range(6):
        inner = r[: -6 or None]
        row.append(inner)
        col.append((inner // 6 + 1) * 6 + k)
    return pattern(np.concatenate(row), rng.permutation(len(r))[np.concatenate(col)], (len(r), len(r)))


def road(side, rng):
    """A square grid without a random 30 % of its edges, as a symmetric matrix."""
    i = np.arange(side * side).reshape(side, side)
    edges = np.vstack(
        [np.c_[i[:, :-1].ravel(), i[:, 1:].ravel()], np.c_[i[:-1].ravel(), i[1:].ravel()]],
    )
    a, b = edges[rng.random(len(edges)) < 0.7].T
    return pattern(np.r_[a, b], np.r_[b, a], (side * side, side * side))


def uniform(n, degree, rng):
    return pattern(rng.integers(0, n, n * degree), rng.integers(0, n, n * degree), (n, n))


# General graphs with weights

KINDS = ["few", "equal", "wide", "float", "zeros"]


def weighted_graph(n, lower, upper, weight):
    """A symmetric array of edges, each given once."""
    both = (np.r_[lower, upper].astype(int), np.r_[upper, lower].astype(int))
    return sp.csr_array((np.r_[weight, weight], both), shape=(n, n))


def random_weighted(rng, n, density, kind="float"):
    lower, upper = np.nonzero(np.triu(rng.random((n, n)) < density, 1))
    return weighted_graph(n, lower, upper, random_weights(rng, len(lower), kind))


def random_weights(rng, m, kind):
    if kind == "float":
        return rng.random(m)
    high = {"few": 4, "equal": 2, "wide": 10**9, "zeros": 2}[kind]
    return rng.integers(0 if kind == "zeros" else 1, high, m)


def weighted_path(weight):
    n = len(weight) + 1
    return weighted_graph(n, np.arange(n - 1), np.arange(1, n), np.asarray(weight))


def star(n):
    return weighted_graph(n, np.zeros(n - 1), np.arange(1, n), np.arange(1, n))


def complete(n, weight):
    lower, upper = np.triu_indices(n, 1)
    return weighted_graph(n, lower, upper, weight)


def adversarial():
    rng = np.random.default_rng(5)
    ladder = sp.csr_array(nx.to_scipy_sparse_array(nx.circular_ladder_graph(50)))
    hubs = nx.to_scipy_sparse_array(nx.complete_bipartite_graph(3, 60), dtype=np.int64)
    return {
        "empty": sp.csr_array((0, 0)),
        "no edges": sp.csr_array((7, 7)),
        "one edge": weighted_path([2.5]),
        "rising path": weighted_path(np.arange(1, 3001)),
        "falling path": weighted_path(np.arange(3000, 0, -1)),
        "level path": weighted_path(np.ones(501)),
        "star": star(400),
        "level complete": complete(40, np.ones(780, int)),
        "rising complete": complete(60, np.arange(1770)),
        "random complete": complete(120, rng.random(7140)),
        "ladder": ladder,
        "hubs": sp.csr_array(hubs),
        "two parts": sp.csr_array(sp.block_diag([star(9), weighted_path([3, 1, 3])])),
    }
