"""Maximum matching on CUDA: tiny graphs in numba's simulator, larger ones on a GPU; all results certified."""

import importlib

import numpy as np
import pytest
import scipy.sparse

import matching
from matching.core import limits_cuda as limits
from matching.core.certificate import certify
from matching.core.graph_input import bipartite_graph
from matching.methods import INITS, METHODS
from tests.matching import oracles
from tests.matching.gpu_arrays import WHERE, gpu, sim

# name -> module and parameters
VARIANTS = {
    f"{name}-{search}-{grid}": (name, {"search": search, "grid": grid})
    for name in ("apfb", "apsb")
    for search in ("gpubfs", "gpubfs_wr")
    for grid in ("ct", "mt")
}
VARIANTS |= {
    "g_pr_first": ("g_pr_first", {}),
    "g_pr_first-fix": ("g_pr_first", {"relabel": ("fix", 10)}),
    "g_pr_noshr": ("g_pr_noshr", {"relabel": ("adaptive", 0.3)}),
    "g_pr_shr": ("g_pr_shr", {"shrink_from": 1}),
    "g_pr_shr-fix": ("g_pr_shr", {"shrink_from": 1, "relabel": ("fix", 3)}),
    "portfolio": ("portfolio", {}),
    "ms_bfs_graft": ("ms_bfs_graft", {}),
    "ms_bfs_graft-together": ("ms_bfs_graft", {"block_levels": 0}),
    "ms_bfs_graft-top_down": ("ms_bfs_graft", {"direction_optimising": False, "alpha": 100}),
    "ms_bfs_graft-anew": ("ms_bfs_graft", {"grafting": False, "alpha": 100}),
}
# In the simulator "mt" has as many threads as "ct".
FEWER = [name for name in VARIANTS if not name.endswith("-mt")]
EVERYWHERE = [pytest.param("simulator", name, marks=sim) for name in FEWER]
EVERYWHERE += [pytest.param("gpu", name, marks=gpu) for name in VARIANTS]
# In the simulator one variant of each method, its last.
ONCE = [
    row
    for row in EVERYWHERE
    if row.values[0] == "gpu" or row.values[1] in {VARIANTS[name][0]: name for name in FEWER}.values()
]
PLACES = {"alternate": "papers", "cheap": "initial", "frontier": "core", "g_pr": "papers", "ms_bfs_graft": "forest"}


def module(name):
    return importlib.import_module(f"matching.{PLACES[name]}.{name}_cuda")


def on_gpu(entry, *arguments, **parameters):
    """A method of the tables on CUDA, for a graph and a matching on the host."""
    from matching.core import problem_cuda

    return problem_cuda.on_gpu(entry.cuda.function, *arguments, **parameters)


def solved(graph, variant, size, *, cheap=False, start=None):
    """Stats and the matching; it is certified and has `size` pairs."""
    name, parameters = VARIANTS[variant]
    graph = bipartite_graph(graph)
    row_match, col_match = np.full(graph.rows, -1, np.int32), np.full(graph.cols, -1, np.int32)
    if start is not None:
        row_match[:] = start
        col_match[start[start >= 0]] = np.flatnonzero(start >= 0)
    if cheap:
        on_gpu(INITS["cheap"], graph, row_match, col_match)
    before = np.count_nonzero(row_match >= 0)
    stats = on_gpu(METHODS[name], graph, row_match, col_match, **parameters)
    certify(graph, row_match, col_match)
    assert np.count_nonzero(row_match >= 0) == size
    assert stats["augmentations"] == size - before
    return stats, row_match, col_match


def hard_graphs(rng, where):
    """Graphs on which searches are prone to errors, and permutations of them."""
    tiny = where == "simulator"
    graphs = [
        oracles.path(6 if tiny else 3000),
        oracles.ladder(2 if tiny else 200),
        oracles.rope(2 if tiny else 300, rng),
        oracles.road(3 if tiny else 60, rng),
        oracles.uniform(10 if tiny else 3000, 3, rng),
        oracles.pattern(np.arange(7), np.zeros(7, int), (7, 2)),
        oracles.pattern(np.zeros(7, int), np.arange(7), (2, 7)),
        oracles.pattern([], [], (3, 4)),
        oracles.pattern([], [], (0, 2)),
    ]
    return [one for graph in graphs for one in (graph, oracles.permuted(graph, rng))]


@pytest.mark.parametrize(("where", "variant"), EVERYWHERE)
def test_random_graphs(where, variant):
    for seed in range(3 if where == "simulator" else 10):
        rng = np.random.default_rng(seed)
        for trial in range(1 if where == "simulator" else 30):
            graph = oracles.random_graph(rng, 11 if where == "simulator" else 60)
            solved(graph, variant, oracles.best_cardinality(graph), cheap=(seed + trial) % 2)


@pytest.mark.parametrize(("where", "variant"), ONCE)
def test_hard_graphs(where, variant):
    rng = np.random.default_rng(1)
    for i, graph in enumerate(hard_graphs(rng, where)):
        solved(graph, variant, oracles.best_cardinality(graph), cheap=i % 4 < 2)


@pytest.mark.parametrize(("where", "variant"), EVERYWHERE)
def test_by_name(where, variant):
    name, parameters = VARIANTS[variant]
    init = ("auto", "karp_sipser", "karp_sipser_one_sided")[list(VARIANTS).index(variant) % 3]
    graph = oracles.uniform(8 if where == "simulator" else 2000, 3, np.random.default_rng(6))
    found = matching.maximum(graph, method=name, init=init, device="cuda", **parameters)
    found.check()
    assert found.cardinality == oracles.best_cardinality(graph)
    assert (found.method, found.device) == (name, "cuda")


@pytest.mark.parametrize("where", WHERE)
def test_the_default_of_cuda(where):
    graph = oracles.uniform(8 if where == "simulator" else 2000, 3, np.random.default_rng(7))
    found = matching.maximum(graph, device="cuda")
    found.check()
    assert (found.method, found.init, found.device) == ("portfolio", "none", "cuda")


@sim
@pytest.mark.parametrize("variant", FEWER)
def test_threads_yield_between_loads_and_stores(variant, monkeypatch):
    """Threads yield between their loads and the stores that follow, so that other threads store in between."""
    from tests.simulator.blocks import yield_turn

    chance = np.random.default_rng(2)

    def late(function):
        def call(*args):
            found = function(*args)
            if chance.random() < 0.3:
                yield_turn()
            return found

        return call

    for name in PLACES:
        # Loads between barriers, by which all threads take the same branch, may be delayed as well.
        for function in (
            "relaxed_load",
            "min_label_row",
            "attach",
            "expand",
            "claim_column",
            "is_unmatched",
            "push",
            "next_grid_slot",
        ):
            if hasattr(module(name), function):
                monkeypatch.setattr(module(name), function, late(getattr(module(name), function)))
    rng = np.random.default_rng(3)
    for graph in (
        oracles.path(6),
        oracles.ladder(2),
        oracles.rope(2, rng),
        oracles.uniform(9, 2, rng),
        oracles.road(3, rng),
    ):
        solved(oracles.permuted(graph, rng), variant, oracles.best_cardinality(graph))
    stars = oracles.pattern([0, 1, 2, 3, 0, 1, 2, 3, 3, 4], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2], (5, 4))
    solved(stars, variant, 3)


@pytest.mark.parametrize(("where", "variant"), ONCE)
def test_start_is_kept_and_maximum_matching_unchanged(where, variant):
    rng = np.random.default_rng(4)
    graph = oracles.uniform(9 if where == "simulator" else 500, 3, rng)
    size = oracles.best_cardinality(graph)
    _, full, _ = solved(graph, variant, size)
    start = np.where(rng.random(len(full)) < 0.6, full, -1)
    _, again, again_cols = solved(graph, variant, size, start=start)
    # Augmenting paths keep vertices matched; labels and repaired races may exchange them.
    if variant.startswith(("portfolio", "ms_bfs")):
        assert (again[start >= 0] >= 0).all()
        assert (again_cols[start[start >= 0]] >= 0).all()
    stats, same, _ = solved(graph, variant, size, start=full)
    assert (same == full).all()
    assert stats["augmentations"] == 0


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("begun", [False, True])
def test_default_hands_long_thin_graphs_to_the_cpu(where, begun):
    few, many = (6, 20) if where == "simulator" else (300, 10_000)
    rng = np.random.default_rng(11)
    for graph, last in (
        (oracles.uniform(few, 4, rng), "ms_bfs_graft"),
        (oracles.path(many) if begun else oracles.ladder(many), "cpu"),
    ):
        size = oracles.best_cardinality(graph)
        start = np.r_[np.arange(1, size), -1] if begun and last == "cpu" else None  # one path through all vertices
        stats, row_match, _ = solved(graph, "portfolio", size, start=start)
        assert stats["stages"][-1] == last
        assert start is None or stats["path_length"] == 2 * size - 1


@sim
@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("g_pr_first", {"relabel": "adaptive"}, "relabel must be"),
        ("g_pr_noshr", {"relabel": ("fix", 0.5)}, "relabel must be"),
        ("g_pr_noshr", {"relabel": ("often", 1)}, "relabel must be"),
        ("g_pr_shr", {"relabel": ("adaptive", -1)}, "relabel must be"),
    ],
)
def test_bad_parameters(name, parameters, message):
    graph = bipartite_graph(oracles.path(3))
    match = np.full(3, -1, np.int32)
    with pytest.raises(ValueError, match=message):
        on_gpu(METHODS[name], graph, match, match.copy(), **parameters)


@gpu
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("family", ["road", "uniform 2", "uniform 3", "uniform 5", "rope", "ladder", "wide", "tall"])
def test_families_on_a_gpu(family, variant):
    """Ten runs each, since the races differ between runs."""
    rng = np.random.default_rng(8)
    graph = {
        "road": lambda: oracles.road(300, rng),
        "uniform 2": lambda: oracles.uniform(100_000, 2, rng),
        "uniform 3": lambda: oracles.uniform(100_000, 3, rng),
        "uniform 5": lambda: oracles.uniform(100_000, 5, rng),
        "rope": lambda: oracles.rope(100 if "fix" in variant else 1000, rng),  # "fix" relabels all levels each time
        "ladder": lambda: oracles.ladder(100 if "fix" in variant else 1000),
        "wide": lambda: oracles.uniform(50_000, 4, rng)[:30_000],
        "tall": lambda: oracles.uniform(50_000, 4, rng)[:, :30_000],
    }[family]()
    for one in (graph, oracles.permuted(graph, rng)):
        size = matching.maximum(one, device="cpu").cardinality
        for run in range(10):
            solved(one, variant, size, cheap=run != 0)


@sim
@pytest.mark.parametrize("method", sorted({name for name, _ in VARIANTS.values()}))
def test_too_large_graphs_are_rejected(monkeypatch, method):
    """The limits themselves are tested in test_limits.py."""
    graph = bipartite_graph(scipy.sparse.csr_array(np.ones((3, 5))))
    monkeypatch.setattr(limits, "MAX_SIDE", 4)
    for init in ("none", "cheap", "karp_sipser"):
        with pytest.raises(
            ValueError, match="graph has 5 vertices on one side, more than the 4 that CUDA methods accept"
        ):
            matching.maximum(graph, method=method, init=init, device="cuda")
    monkeypatch.setattr(limits, "MAX_SIDE", 5)
    if method.startswith("g_pr"):
        monkeypatch.setattr(limits, "MAX_LABELLED", 7)
        with pytest.raises(ValueError, match="graph has 8 vertices, more than the 7 that labels can number"):
            matching.maximum(graph, method=method, device="cuda")
        monkeypatch.setattr(limits, "MAX_LABELLED", 8)
    if method in ("g_pr_noshr", "g_pr_shr"):
        monkeypatch.setattr(limits, "MAX_LISTED", 4)
        with pytest.raises(
            ValueError, match=f"5 columns, more than the 4 that '{method}' accepts on CUDA; use 'g_pr_f"
        ):
            matching.maximum(graph, method=method, device="cuda")
        monkeypatch.setattr(limits, "MAX_LISTED", 5)
    assert matching.maximum(graph, method=method, init="none", device="cuda").cardinality == 3
