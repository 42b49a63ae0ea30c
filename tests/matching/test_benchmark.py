"""The matching benchmark on tiny graphs: it prints certified results only."""

import timeit

import numpy as np
import pytest
import scipy.io
from scipy.sparse.csgraph import maximum_bipartite_matching

from benchmarks import matching_instances as instances
from benchmarks import matching_pictures as pictures
from benchmarks import matching_runs as runs
from benchmarks import table
from benchmarks.__main__ import main

GRAPH = instances.uniform(60, 3)
PNG = b"\x89PNG"


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    families = {"tiny": lambda: GRAPH, "other": lambda: instances.road(6, 0.3)}
    for name in ("PLAIN", "QUICK", "SMALL"):
        monkeypatch.setattr(instances, name, families)
    monkeypatch.setattr(instances, "HARD", {"dead ends": lambda: instances.dead_ends(4)})
    monkeypatch.setattr(instances, "GRAPHS", instances.with_permuted(families | instances.HARD))
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
    monkeypatch.setitem(runs.BASELINES, "SciPy", lambda graph: lambda: (-1, None))
    with pytest.raises(AssertionError, match="SciPy found -1 pairs"):
        main(["matching", "tiny", "--repeats", "1"])


def test_a_baseline_that_is_missing_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(runs.BASELINES, "igraph", lambda graph: None)
    assert main(["matching", "tiny", "--repeats", "1"]) == 0
    assert cells_of(capsys.readouterr().out, "tiny")[0][-1] == "-"


def test_scipy_skips_graphs_that_take_it_too_long(capsys):
    assert main(["matching", "--quick", "--hard", "--permuted", "--repeats", "1", "--baselines", "scipy"]) == 0
    rows = {row[0]: row for row in cells_of(capsys.readouterr().out, "") if "✓" in row}
    assert len(rows) == 6
    assert {name for name, row in rows.items() if row[-2] == "-"} == {n for n in rows if "perm" in n or "dead" in n}


def test_programs_over_the_limit_are_stopped():
    trials = runs.Trials(instances.dead_ends(40), 0.5)
    assert trials.run(runs.Program("SciPy")) is None
    trials.limit = 60  # the next starts in a new process
    seconds, size, ran = trials.run(runs.program_of("ss_bfs", "cheap", 1))
    assert seconds < 60
    assert size == len(trials.graph.indptr) - 1
    assert (ran.method, ran.init) == ("ss_bfs", "cheap")
    trials.stop()


def test_failed_trial_raises_and_prints_the_reason(capfd):
    trials = runs.Trials(GRAPH, 60)
    with pytest.raises(RuntimeError, match="broken ended without a result"):
        trials.run(runs.Program("broken", {"method": "none such"}))
    trials.stop()
    assert "method must be one of" in capfd.readouterr().err


def test_tables_of_programs_over_the_limit(monkeypatch, capsys):
    """Stopped programs are listed as such; slow ones are not run again."""
    ran = runs.Run("hopcroft_karp", "cheap", {"seconds": {"init": 0.5, "solve": 6.0}})
    size = int((maximum_bipartite_matching(GRAPH) >= 0).sum())
    results = {"auto": None, "hopcroft_karp": (7.0, size, ran), "SciPy": (0.0, size, None), "igraph": None}
    monkeypatch.setattr(runs.Trials, "run", lambda trials, program: results[program.name])
    monkeypatch.setitem(runs.BASELINES, "igraph", lambda graph: lambda: size)  # installed or not
    how = ["--timeout", "8", "--repeats", "1", "--method", "auto,hopcroft_karp", "--profile", "p"]
    assert main(["matching", "tiny", *how]) == 0
    printed = capsys.readouterr().out
    stopped, slow, by_method = cells_of(printed, "tiny")
    assert "✓" not in stopped
    assert stopped[8] == stopped[11] == "stopped"
    assert slow[7:10] == ["✓", "7000.0", "6500.0"]
    assert by_method[1] == "stopped"
    assert "profiles of 1 graphs" in printed


def test_statistics(capsys):
    how = ["--statistics", "--repeats", "1", "--method", "hopcroft_karp+none,push_relabel+cheap"]
    assert main(["matching", "tiny", *how]) == 0
    rows = [row for row in cells_of(capsys.readouterr().out, "tiny") if len(row) == 9]
    assert [row[1] for row in rows] == ["hopcroft_karp+none", "push_relabel+cheap"]
    missing, edges, phases, length = int(rows[0][4]), int(rows[0][5]), int(rows[0][7]), float(rows[0][8])
    assert missing == (maximum_bipartite_matching(GRAPH) >= 0).sum()
    assert edges >= missing
    assert 1 <= phases <= 20
    assert length >= 1


def test_profiles(tmp_path, capsys):
    assert main(["matching", "--quick", "--repeats", "1", "--method", "auto,ss_bfs", "--profile", "p"]) == 0
    assert "profiles of 2 graphs saved to" in capsys.readouterr().out
    assert [p.name for p in (tmp_path / "results").iterdir()] == ["p.png"]
    assert (tmp_path / "results" / "p.png").read_bytes()[:4] == PNG


def test_no_profile_without_a_common_graph(tmp_path, capsys):
    how = ["--repeats", "1", "--baselines", "scipy", "--profile", "p"]
    assert main(["matching", "tiny permuted", "other permuted", "tiny", "--method", "auto", *how]) == 0
    assert "profiles of 1 graphs" in capsys.readouterr().out
    assert main(["matching", "--quick", "--permuted", "--method", "auto", *how]) == 0
    assert "profiles of 2 graphs" in capsys.readouterr().out
    assert pictures.profiles([runs.Measured("a", 1, 1, 1, {"x": 1.0})], ["x", "y"]) == (None, 0)


def test_shares_in_the_profiles():
    """Twice as fast as igraph on one graph, half as fast on another, stopped on the third."""
    stopped = runs.STOPPED
    times = [{"ours": 1.0, "igraph": 2.0}, {"ours": 2.0, "igraph": 1.0}, {"ours": stopped, "igraph": 1.0}]
    measured = [runs.Measured(str(i), 1, 1, 1, seconds) for i, seconds in enumerate(times)]
    figure, count = pictures.profiles(measured, ["ours", "igraph"])
    assert count == 3

    def share(axes, label, x):
        line = next(line for line in axes.get_lines() if line.get_label() == label)
        at, value = line.get_data()
        inside = (at[:-1] - x) * (at[1:] - x) <= 0
        return value[:-1][inside].max()

    speedup, performance = figure.axes
    assert share(speedup, "ours", 1.5) == pytest.approx(1 / 3)
    assert share(speedup, "ours", 0.5) == pytest.approx(2 / 3)
    assert share(performance, "ours", 1.5) == pytest.approx(1 / 3)
    assert share(performance, "ours", 2.0) == pytest.approx(2 / 3)
    assert share(performance, "igraph", 1.5) == pytest.approx(2 / 3)


def test_steps(tmp_path, capsys):
    assert main(["matching", "--quick", "--steps", "--repeats", "1", "--profile", "s", "--save", "s"]) == 0
    printed = capsys.readouterr().out
    (row,) = cells_of(printed, "tiny")
    assert len(row) == 13
    assert "after karp_sipser_one_sided" in printed
    (mean,) = cells_of(printed, "geometric mean")
    assert float(mean[8]) > 0
    assert (tmp_path / "results" / "s.png").read_bytes()[:4] == PNG
    assert "| geometric mean" in (tmp_path / "results" / "s.md").read_text()


def test_small_matrices(capsys):
    assert main(["matching", "--small", "--repeats", "1"]) == 0
    (row,) = cells_of(capsys.readouterr().out, "tiny")
    assert row[1:3] == ["60", "60"]
    assert all(float(cell) > 0 for cell in row[5:])


def test_files_as_instances(tmp_path, capsys):
    scipy.io.mmwrite(tmp_path / "b.mtx", GRAPH)
    assert main(["matching", str(tmp_path / "b.mtx"), "--repeats", "1"]) == 0
    assert "✓" in cells_of(capsys.readouterr().out, "b ")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no graph 'nowhere'; there are tiny, other"),
        (["gone.mtx"], "No such file"),
        (["--method", "auto,best"], "no method 'best'; there are auto, "),
        (["--method", "ss_bfs+best"], "no init 'best'; there are auto, "),
    ],
)
def test_unknown_names(arguments, message, capsys):
    assert main(["matching", *arguments]) == 2
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--threads=0", "--threads=x", "--baselines=lemon"])
def test_bad_options(option, capsys):
    with pytest.raises(SystemExit):
        main(["matching", option])
    assert "invalid" in capsys.readouterr().err


FAMILIES = {
    "delaunay": lambda: instances.delaunay(7),
    "geometric": lambda: instances.random_geometric(7, 6),
    "rmat": lambda: instances.rmat(7, 8, (0.45, 0.15, 0.15, 0.25)),
    "kron": lambda: instances.rmat(7, 8, (0.57, 0.19, 0.19, 0.05), both=True),
    "road": lambda: instances.road(12, 0.3),
    "uniform": lambda: instances.uniform(100, 3),
    "rope": lambda: instances.rope(10),
    "groups": lambda: instances.groups(120, 6, 4),
    "dead ends": lambda: instances.dead_ends(8),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_graphs_are_sorted_and_without_duplicates(name):
    graph = FAMILIES[name]()
    assert graph.has_canonical_format
    again = instances.permuted(graph)
    assert again.nnz == graph.nnz
    assert again.has_sorted_indices
    np.testing.assert_array_equal(FAMILIES[name]().indices, graph.indices)


def test_structure_of_the_hard_graphs():
    assert instances.ladder(4).toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert np.diff(instances.rope(3).indptr).tolist() == [7] * 12 + [1] * 6
    groups = instances.groups(40, 4, 3)
    assert (np.abs(groups.tocoo().row // 10 - groups.tocoo().col // 10) <= 1).all()
    dead_ends = instances.dead_ends(5)
    assert dead_ends.shape == (36, 36)
    assert (maximum_bipartite_matching(dead_ends) >= 0).all()


def test_scipy_is_exponential_on_dead_ends():
    """Six levels more take it 64 times as long: the reason to keep it from them."""
    short, long = (
        min(timeit.repeat(lambda graph=graph: maximum_bipartite_matching(graph), number=1, repeat=3))
        for graph in (instances.dead_ends(12), instances.dead_ends(18))
    )
    assert long > 6 * short
