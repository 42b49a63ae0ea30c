"""Every public function, method and initial matching of matching over the shared instances, forms and checkers.

The long form, of random instances, runs with -m thorough; its messages name the seed of the instance.
"""

import math
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import matching
from matching.general.greedy_matching import HEAVIEST_FIRST
from matching.general.greedy_methods import GREEDY_METHODS
from matching.methods import INITS, METHODS
from tests.matching import oracles

BIPARTITE, GENERAL = oracles.bipartite_instances(), oracles.general_instances()
ON_CPU = ["auto", *(name for name, entry in METHODS.items() if entry.cpu)]
RANDOM = 10_000  # instances of the long form
PARTS = 10


def graph_of(instance):
    return oracles.bipartite_forms(instance)["coo with duplicates"]


def run_maximum(instance, graph, **how):
    found = matching.maximum(graph, **how)
    oracles.check_maximum(instance, found.row_match, found.col_match, found.cardinality, found.vertex_cover())
    found.check()
    return found


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("method", ON_CPU)
def test_maximum(method, init):
    """From no start, from a part of a maximum matching, and from all of one."""
    for name, instance in BIPARTITE.items():
        graph, size = matching.bipartite_graph(graph_of(instance)), oracles.largest_by_scipy(instance)
        found = run_maximum(instance, graph, method=method, init=init)
        assert found.cardinality == size, name
        for start in (np.where(np.arange(instance.shape[0]) % 2, found.row_match, -1), found.row_match):
            again = run_maximum(instance, graph, method=method, init=init, start=start)
            assert again.cardinality == size, name
            assert (again.row_match[start >= 0] >= 0).all(), name


@pytest.mark.parametrize("name", BIPARTITE)
def test_forms_of_bipartite_graphs(name):
    instance = BIPARTITE[name]
    size = oracles.largest_by_scipy(instance)
    for form, graph in oracles.bipartite_forms(instance).items():
        assert run_maximum(instance, graph).cardinality == size, form
        assert matching.structural_rank(graph) == size, form
        found = matching.dulmage_mendelsohn(graph)
        found.check()
        oracles.check_block_form(instance, found)
        if sp.issparse(graph):
            for perm_type in ("row", "column"):
                perm = matching.maximum_bipartite_matching(graph, perm_type)
                assert (perm >= 0).sum() == size, form


@pytest.mark.parametrize("method", ["auto", *GREEDY_METHODS])
@pytest.mark.parametrize("name", GENERAL)
def test_greedy(name, method):
    instance = GENERAL[name]
    for form, graph in oracles.general_forms(instance).items():
        found = matching.greedy(graph, method=method, seed=len(form))
        found.check()
        in_order = found.method in HEAVIEST_FIRST
        total = 0
        for pair in found.pairs.tolist():  # not by sum, which compensates for rounding from Python 3.12 on
            total += instance.weight[tuple(pair)]
        assert found.weight == total, form
        oracles.check_greedy(instance, found.partner, found.cardinality, found.weight, in_order)


@pytest.mark.parametrize("name", GENERAL)
def test_coarsen_and_hierarchy(name):
    instance = GENERAL[name]
    parts = oracles.components(instance)
    for form, graph in oracles.general_forms(instance).items():
        coarse = matching.coarsen(graph)
        coarse.check()
        same_sums(coarse.graph, oracles.contracted(instance, coarse.labels))
        for join in (False, True):
            found = matching.hierarchy(graph, join=join)
            found.check()
            assert found.vertex_counts[-1] == len(parts), form
            label = found.labels()
            assert sorted(np.flatnonzero(label == k).tolist() for k in range(len(parts))) == sorted(parts)


def same_sums(graph, wanted):
    """The edges between clusters, each with the sum of its weights: integers exactly."""
    graph = sp.coo_array(graph)
    entries = {
        (v, w): x for v, w, x in zip(graph.row.tolist(), graph.col.tolist(), graph.data.tolist(), strict=True) if v < w
    }
    assert entries.keys() == wanted.keys()
    for edge, parts in wanted.items():
        total = sum(parts) if isinstance(entries[edge], int) else math.fsum(parts)
        assert entries[edge] == total or abs(entries[edge] - total) <= 1e-15 * len(parts) * total


@pytest.mark.parametrize("name", BIPARTITE)
def test_read_graph(name, tmp_path):
    instance = BIPARTITE[name]
    if 0 in instance.shape:
        pytest.skip("MatrixMarket files of SciPy's have no empty sides")
    graph = oracles.weighted_csr(instance, np.random.default_rng(1))
    scipy.io.mmwrite(tmp_path / "a.mtx", graph)
    sp.save_npz(tmp_path / "a.npz", graph)
    for path in (tmp_path / "a.mtx", tmp_path / "a.npz"):
        read = matching.read_graph(path)
        np.testing.assert_array_equal(read.toarray(), graph.toarray())
        assert run_maximum(instance, read).cardinality == oracles.largest_by_scipy(instance)


FUNCTIONS = {
    "maximum": matching.maximum,
    "bipartite_graph": matching.bipartite_graph,
    "maximum_bipartite_matching": matching.maximum_bipartite_matching,
    "structural_rank": matching.structural_rank,
    "dulmage_mendelsohn": matching.dulmage_mendelsohn,
    "greedy": matching.greedy,
    "coarsen": matching.coarsen,
    "hierarchy": matching.hierarchy,
}
VALUES_ARE_READ = ("greedy", "coarsen", "hierarchy")


def outcome(name: str, case: str) -> str:
    """The error that a malformed matrix brings."""
    try:
        FUNCTIONS[name](oracles.malformed()[case])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def test_malformed_matrices_are_rejected():
    """In another process, which an access out of bounds would end."""
    code = "from tests.matching.test_battery import print_outcomes; print_outcomes()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = dict(line.split("\t", 1) for line in run.stdout.splitlines())
    assert len(lines) == len(FUNCTIONS) * len(oracles.malformed())
    for key, said in lines.items():
        name, case = key.split("/")
        if case == "csr: values are missing" and name not in VALUES_ARE_READ:
            assert said == "accepted", key
        else:
            assert said.startswith("ValueError: "), (key, said)


def print_outcomes() -> None:
    for name in FUNCTIONS:
        for case in oracles.malformed():
            print(f"{name}/{case}\t{outcome(name, case)}", flush=True)


def test_every_public_function_is_in_the_battery():
    functions = {name for name in matching.__all__ if not isinstance(getattr(matching, name), type)}
    assert functions == {*FUNCTIONS, "read_graph"}


# The long form


def random_bipartite(seed: int, tally) -> None:
    rng = np.random.default_rng(seed)
    instance = oracles.random_bipartite(rng)
    forms = oracles.bipartite_forms(instance)
    graph = forms[rng.choice(list(forms))]
    size = oracles.largest_by_scipy(instance)
    tally["SciPy"] += 1
    method, init = rng.choice(ON_CPU), rng.choice(list(INITS))
    start = None
    if rng.random() < 0.5:
        start = np.where(rng.random(instance.shape[0]) < 0.5, matching.maximum(graph).row_match, -1)
    found = run_maximum(instance, graph, method=method, init=init, start=start)
    assert found.cardinality == size
    tally["plain König covers"] += 1
    if seed % 4 == 0:
        form = matching.dulmage_mendelsohn(graph, start=found)
        form.check()
        oracles.check_block_form(instance, form)
        tally["coarse parts by definition"] += 1


def random_general(seed: int, tally) -> None:
    rng = np.random.default_rng(seed)
    instance = oracles.random_general(rng)
    forms = oracles.general_forms(instance)
    graph = forms[rng.choice(list(forms))]
    found = matching.greedy(graph, method=rng.choice(["auto", *GREEDY_METHODS]), seed=seed)
    found.check()
    oracles.check_greedy(instance, found.partner, found.cardinality, found.weight, found.method in HEAVIEST_FIRST)
    tally["plain greedy checker"] += 1
    network = nx.Graph(list(instance.weight))
    assert nx.is_maximal_matching(network, {tuple(pair) for pair in found.pairs.tolist()})
    tally["networkx, maximal"] += 1
    if seed % 4 == 0:
        assert 2 * found.cardinality >= len(nx.max_weight_matching(network, maxcardinality=True))
        tally["networkx, maximum"] += 1
    vertex_weight = rng.integers(1, 9, instance.n) if rng.random() < 0.5 else rng.random(instance.n) + 0.1
    coarse = matching.coarsen(graph, found, vertex_weight=vertex_weight)
    coarse.check()
    same_sums(coarse.graph, oracles.contracted(instance, coarse.labels))
    tally["plain contraction"] += 1
    parts = oracles.components(instance)
    levels = matching.hierarchy(graph, join=bool(rng.random() < 0.5), vertex_weight=vertex_weight)
    levels.check()
    assert levels.vertex_counts[-1] == len(parts)
    tally["networkx, components"] += 1


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(PARTS))
def test_random_instances(part, capsys):
    tally = oracles.Tally()
    for seed in range(part, RANDOM, PARTS):
        for run in (random_bipartite, random_general):
            try:
                run(seed, tally)
            except Exception as error:
                raise AssertionError(f"{run.__name__}({seed}): {error!r}") from error
            tally["instances"] += 1
    with capsys.disabled():
        print(f"\nseeds {part}, {part + PARTS} ... {RANDOM}: {tally}")
