"""No public function of gridcut or its compatibility layers changes an argument, and all accept read-only arrays."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

import gridcut
from gridcut.compat import maxflow
from gridcut.compat.maxflow import fastmin
from gridcut.compat.scipy import maximum_flow
from gridcut.methods import METHODS
from tests.untouched import untouched

SHAPE = (5, 6)


LAYOUTS = {
    "plain": lambda a: a,
    "Fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: np.flip(a).copy()[(slice(None, None, -1),) * a.ndim],
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_lock = pytest.mark.parametrize("locked", [False, True])
each_type = pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64, np.uint8])


def drawer(layout, dtype, high=20):
    rng = np.random.default_rng(51)
    return lambda *shape: LAYOUTS[layout](rng.integers(0, high, shape).astype(dtype))


@each_layout
@each_lock
@each_type
def test_grids(layout, locked, dtype):
    drawn = drawer(layout, dtype)
    source, sink, edges = drawn(*SHAPE), drawn(*SHAPE), {(0, 1): drawn(*SHAPE), (1, 1): 3}
    mask = LAYOUTS[layout](drawn(*SHAPE) > 3)
    for method in (name for name, entry in METHODS.items() if entry.cpu):
        for given in ({}, {"mask": mask}):
            cut = untouched(gridcut.max_flow, source, sink, edges, method=method, device="cpu", locked=locked, **given)
            untouched(cut.flow, (0, 1))
            untouched(cut.residual, (0, 1))
    solver = untouched(gridcut.Solver, source, sink, edges, mask=mask, device="cpu", locked=locked)
    solver.solve()
    where = np.array([3, 0, 3]), np.array([2, 2, 2])  # with a repeated pixel
    untouched(solver.update, source=drawn(3), sink=drawn(3), where=where, locked=locked)
    untouched(solver.update, source=drawn(int(mask.sum())), where=mask, locked=locked)
    untouched(solver.update, source=drawn(*SHAPE), sink=drawn(*SHAPE), locked=locked)
    untouched(solver.update, edges={(0, 1): drawn(*SHAPE)}, locked=locked)
    solver.solve().check()
    batch = {(0, 1): drawn(4, *SHAPE), (1, 0): drawn(*SHAPE)}
    untouched(gridcut.max_flow_batch, drawn(4, *SHAPE), sink, batch, device="cpu", locked=locked)


@each_layout
@each_lock
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_labels(layout, locked, dtype):
    drawn = drawer(layout, dtype)
    unary, weights = drawn(3, *SHAPE), {(0, 1): drawn(*SHAPE), (1, 0): 4}
    cost = LAYOUTS[layout](np.abs(np.subtract.outer(range(3), range(3))).astype(dtype))
    start = LAYOUTS[layout](np.argmin(unary, axis=0))
    more = {"start": start, "order": [2, 0, 1], "allowed": LAYOUTS[layout](np.ones(unary.shape, bool))}
    untouched(gridcut.alpha_expansion, unary, weights, cost, locked=locked, device="cpu", **more)
    untouched(gridcut.alpha_beta_swap, unary, weights, cost, start=start, locked=locked, device="cpu")
    untouched(gridcut.convex_labels, unary, weights, cost, locked=locked, device="cpu")
    untouched(gridcut.energy_of, start, unary, weights, cost, locked=locked)
    solver = untouched(gridcut.LabelSolver, unary, weights, cost, start=start, order=[2, 0, 1], locked=locked)
    solver.solve()
    untouched(solver.update, unary=drawn(3, *SHAPE), weights={(0, 1): drawn(*SHAPE), (1, 0): 1}, locked=locked)
    solver.solve().check()
    table = np.zeros((2, 2, *SHAPE), dtype)
    table[0, 1], table[1, 0] = drawn(*SHAPE), drawn(*SHAPE)
    energy = untouched(gridcut.BinaryEnergy, unary[:2], {(0, 1): LAYOUTS[layout](table)}, locked=locked)
    untouched(energy.value, start > 0, locked=locked)
    for function in (gridcut.binary_minimum, gridcut.binary_labels, gridcut.roof_duality):
        untouched(function, energy, device="cpu")
    untouched(gridcut.contrast_edges, drawn(*SHAPE, 3), 8, spacing=np.array([1.0, 2.0]), locked=locked)
    untouched(gridcut.neighbourhood, 4)


def matrices(dtype=np.int64):
    """Sparse graphs: sorted, unsorted with repeated entries and loops, with unused entries, other formats."""
    rng = np.random.default_rng(52)
    n = 12
    indptr = np.r_[0, np.sort(rng.integers(0, 50, n - 1)), 50]
    unsorted = sp.csr_array((rng.integers(0, 9, 50).astype(dtype), rng.integers(0, n, 50), indptr), shape=(n, n))
    yield "unsorted", unsorted
    yield "sorted", unsorted.tocoo().tocsr()
    yield "other types of indices", sp.csr_array((unsorted.data, unsorted.indices.astype(np.int32), indptr), (n, n))
    roomy = unsorted.copy()
    roomy.data, roomy.indices = np.r_[roomy.data, roomy.data[:5]], np.r_[roomy.indices, roomy.indices[:5]]
    yield "room", roomy
    yield "matrix", sp.csr_matrix(unsorted)
    for form in ("csc", "coo", "bsr", "lil", "dok"):
        yield form, unsorted.asformat(form)


MATRICES = dict(matrices())


@each_lock
@pytest.mark.parametrize("name", MATRICES)
def test_graphs(name, locked):
    graph = MATRICES[name]
    n = graph.shape[0]
    source, sink = np.random.default_rng(53).integers(0, 9, (2, n))
    locked = locked and name not in ("lil", "dok")
    before = graph.toarray()
    for method in ("auto", "ibfs"):
        cut = untouched(gridcut.graph_max_flow, graph, source, sink, method=method, device="cpu", locked=locked)
        untouched(cut.residual)
    solver = untouched(gridcut.GraphSolver, graph, source, sink, locked=locked)
    solver.solve()
    untouched(solver.update, source=sink, capacity=graph, locked=locked)
    solver.solve().check()
    if graph.format == "csr":
        lists = graph.indptr, graph.indices, graph.data, graph.shape
        untouched(gridcut.graph_max_flow, lists, source, sink, locked=locked)
        expected = sp.csgraph.maximum_flow(sp.csr_array(before.astype(np.int32)), 0, n - 1).flow_value
        for _ in range(2):
            assert untouched(maximum_flow, graph, 0, n - 1, locked=locked).flow_value == expected
    assert np.array_equal(graph.toarray(), before)


@each_layout
@each_lock
def test_pymaxflow(layout, locked):
    """Only the labels that `aexpansion_grid` and `abswap_grid` are given are overwritten, as by PyMaxflow."""
    drawn = drawer(layout, np.int64)
    graph = maxflow.GraphInt()
    nodes = graph.add_grid_nodes(SHAPE)
    structure = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0]])
    untouched(graph.add_grid_edges, nodes, drawn(*SHAPE), structure, locked=locked)
    untouched(graph.add_grid_tedges, nodes, drawn(*SHAPE), drawn(*SHAPE), locked=locked)
    flat = LAYOUTS[layout](nodes.reshape(-1).copy())
    untouched(graph.add_edges, flat[:-1], flat[1:], drawn(29), drawn(29), locked=locked)
    graph.maxflow()
    untouched(graph.get_grid_segments, nodes, locked=locked)
    unary, cost = drawn(*SHAPE, 3), LAYOUTS[layout](1 - np.eye(3, dtype=np.int64))
    untouched(fastmin.aexpansion_grid, unary, cost, locked=locked)
    untouched(fastmin.abswap_grid, unary, cost, locked=locked)
    untouched(fastmin.energy_of_grid_labeling, unary, cost, drawn(*SHAPE) % 3, locked=locked)


def test_all_functions_are_in_this_file():
    source = inspect.getsource(inspect.getmodule(test_all_functions_are_in_this_file))
    results = {"CertificateError", "Cut", "GraphCut", "BatchCut", "BinaryMinimum", "ConvexMinimum", "Labelling"}
    assert [name for name in set(gridcut.__all__) - results - {"RoofDual"} if f"gridcut.{name}" not in source] == []
