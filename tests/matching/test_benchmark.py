"""The matching benchmark on tiny graphs: it prints certified results only."""

import timeit

import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching

from benchmarks import harness, table
from benchmarks import matching_graphs as graphs
from benchmarks import matching_instances as instances
from benchmarks import matching_programs as programs
from benchmarks.__main__ import main
from tests.tiers import in_quick_tier

GRAPH = graphs.uniform(60, 3)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    families = {"tiny": lambda: GRAPH, "other": lambda: graphs.road(6, 0.3)}
    for name in ("PLAIN", "QUICK", "SMALL"):
        monkeypatch.setattr(instances, name, families)
    monkeypatch.setattr(instances, "HARD", {"dead ends": lambda: graphs.dead_ends(4)})
    graphs_by_name = instances.with_permuted(families | instances.HARD)
    monkeypatch.setattr(instances, "known", lambda: graphs_by_name)
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results")


def cells_of(printed, first):
    lines = [line for line in printed.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_detail_and_threads(capsys):
    assert main(["matching", "tiny", "--repeats", "1", "--method", "auto,hopcroft_karp+none", "--threads", "1,2"]) == 0
    printed = capsys.readouterr().out
    rows = [row for row in cells_of(printed, "tiny") if "✓" in row]
    assert [row[4] for row in rows] == ["auto", "hopcroft_karp+none"]
    assert rows[1][5:7] == ["hopcroft_karp", "none"]
    assert all(float(row[10]) > 0 and float(row[11]) > 0 for row in rows), "two threads and what they gain"
    assert "SciPy / auto" in printed
    (by_method,) = [row for row in cells_of(printed, "tiny") if len(row) < 8]
    assert sum("**" in cell for cell in by_method) >= 1


def test_a_baseline_that_disagrees_ends_the_run(monkeypatch):
    broken = programs.BASELINES["SciPy"]._replace(run=lambda graph: lambda: -1)
    monkeypatch.setitem(programs.BASELINES, "SciPy", broken)
    with pytest.raises(AssertionError, match="SciPy: WRONG: -1 pairs, others found"):
        main(["matching", "tiny", "--repeats", "1"])


def test_a_baseline_that_is_missing_is_left_out(monkeypatch, capsys):
    missing = programs.BASELINES["igraph"]._replace(module="no_such_module")
    monkeypatch.setitem(programs.BASELINES, "igraph", missing)
    assert main(["matching", "tiny", "--repeats", "1"]) == 0
    assert cells_of(capsys.readouterr().out, "tiny")[0][-1] == "-"


@pytest.mark.slow
def test_scipy_skips_graphs_that_take_it_too_long(capsys):
    assert main(["matching", "tiny", "tiny permuted", "dead ends", "--repeats", "1"]) == 0
    rows = {row[0]: row for row in cells_of(capsys.readouterr().out, "") if "✓" in row}
    assert len(rows) == 3
    assert {name for name, row in rows.items() if row[-2] == "-"} == {n for n in rows if "perm" in n or "dead" in n}


@pytest.mark.slow
def test_programs_over_the_limit_are_stopped():
    worker = harness.Worker(graphs.dead_ends(40), 60, programs.CpuBench)
    shape, _, size = worker.open()
    assert size == shape[0]
    scipy, ours = programs.Program("SciPy"), programs.program_of("ss_bfs+cheap", "cpu", threads=1)
    worker.ask("compile", scipy)
    worker.limit = 0.5
    with pytest.raises(TimeoutError):
        worker.ask("run", scipy)
    worker.limit = 60  # the next starts in a new process
    run = worker.ask("run", ours)
    assert run.seconds < 60
    assert run.pairs == size
    assert (run.method, run.init_name) == ("ss_bfs", "cheap")
    worker.stop()


def test_failed_program_reports_the_reason():
    broken = programs.Program("broken", "none such")
    worker = harness.Worker(GRAPH, 60, programs.CpuBench)
    measured = harness.measure("tiny", worker, [broken], 1, 1.0)
    assert "method must be one of" in measured.failures["broken"]


def test_tables_of_programs_over_the_limit(monkeypatch, capsys):
    """Stopped programs are listed as such; slow ones are run once."""
    size = int((maximum_bipartite_matching(GRAPH) >= 0).sum())
    slow = programs.CpuRun(
        7.0, size, None, "hopcroft_karp", "cheap", {"initial": 1, "seconds": {"init": 0.5, "solve": 6.0}}
    )
    outcome = {"hopcroft_karp": [slow] * 2, "SciPy": [slow._replace(seconds=0.001)] * 4}

    def ask(worker, what, program, *arguments, patience):
        if what != "run":
            return None
        if program.name not in outcome:
            raise TimeoutError
        return outcome[program.name].pop()

    monkeypatch.setattr(harness.Worker, "ask", ask)
    igraph = programs.BASELINES["igraph"]._replace(module="json")  # installed or not
    monkeypatch.setitem(programs.BASELINES, "igraph", igraph)
    how = ["--timeout", "8", "--repeats", "3", "--method", "auto,hopcroft_karp"]
    assert main(["matching", "tiny", *how]) == 0
    printed = capsys.readouterr().out
    stopped, slow, by_method = cells_of(printed, "tiny")
    assert "✓" not in stopped
    assert stopped[8] == stopped[11] == "stopped"
    assert slow[7:10] == ["✓", "7000.0", "6500.0"]
    assert by_method[1] == "stopped"
    assert not outcome["hopcroft_karp"]
    assert not outcome["SciPy"]


def test_steps(tmp_path, capsys):
    assert main(["matching", "--quick", "--steps", "--repeats", "1", "--save", "s"]) == 0
    printed = capsys.readouterr().out
    (row,) = cells_of(printed, "tiny")
    assert len(row) == 13
    assert "after karp_sipser_one_sided" in printed
    (mean,) = cells_of(printed, "geometric mean")
    assert float(mean[8]) > 0
    assert "| geometric mean" in (tmp_path / "results" / "s.md").read_text("utf-8")


def test_small_matrices(capsys):
    assert main(["matching", "--small", "--repeats", "1"]) == 0
    (row,) = cells_of(capsys.readouterr().out, "tiny")
    assert row[1:3] == ["60", "60"]
    assert all(float(cell) > 0 for cell in row[5:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "unknown instance 'nowhere'; there are: tiny, other"),
        (["--method", "auto,best"], "no method 'best'; there are auto, "),
        (["--method", "ss_bfs+best"], "no init 'best'; there are auto, "),
    ],
)
def test_unknown_names(arguments, message, capsys):
    assert main(["matching", *arguments]) == 2
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--threads=0", "--threads=x"])
def test_bad_options(option, capsys):
    with pytest.raises(SystemExit):
        main(["matching", option])
    assert "invalid" in capsys.readouterr().err


FAMILIES = {
    "delaunay": lambda: graphs.delaunay(7),
    "geometric": lambda: graphs.random_geometric(7, 6),
    "rmat": lambda: graphs.rmat(7, 8, (0.45, 0.15, 0.15, 0.25)),
    "kron": lambda: graphs.rmat(7, 8, (0.57, 0.19, 0.19, 0.05), both=True),
    "road": lambda: graphs.road(12, 0.3),
    "uniform": lambda: graphs.uniform(100, 3),
    "rope": lambda: graphs.rope(10),
    "groups": lambda: graphs.groups(120, 6, 4),
    "dead ends": lambda: graphs.dead_ends(8),
}


@pytest.mark.parametrize("name", in_quick_tier(FAMILIES, "rmat".__eq__))
def test_graphs_are_sorted_and_without_duplicates(name):
    graph = FAMILIES[name]()
    assert graph.has_canonical_format
    again = graphs.permuted(graph)
    assert again.nnz == graph.nnz
    assert again.has_sorted_indices
    np.testing.assert_array_equal(FAMILIES[name]().indices, graph.indices)


def test_what_the_hard_graphs_look_like():
    assert graphs.ladder(4).toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert np.diff(graphs.rope(3).indptr).tolist() == [7] * 12 + [1] * 6
    groups = graphs.groups(40, 4, 3)
    assert (np.abs(groups.tocoo().row // 10 - groups.tocoo().col // 10) <= 1).all()
    dead_ends = graphs.dead_ends(5)
    assert dead_ends.shape == (36, 36)
    assert (maximum_bipartite_matching(dead_ends) >= 0).all()


def test_scipy_is_exponential_on_dead_ends():
    """Six levels more take it 64 times as long: the reason to keep it from them."""
    short, long = (
        min(timeit.repeat(lambda graph=graph: maximum_bipartite_matching(graph), number=1, repeat=3))
        for graph in (graphs.dead_ends(12), graphs.dead_ends(18))
    )
    assert long > 6 * short
