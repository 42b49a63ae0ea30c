"""The matching benchmark on tiny graphs: it prints certified results only."""

import pytest

from benchmarks import matching_graphs as graphs
from benchmarks import matching_instances as instances
from benchmarks import matching_programs as programs
from benchmarks import table
from benchmarks.__main__ import main

GRAPH = graphs.uniform(60, 3)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    families = {"tiny": lambda: GRAPH, "other": lambda: graphs.road(6, 0.3)}
    for name in ("PLAIN", "QUICK"):
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


def test_a_baseline_that_disagrees_ends_the_run(monkeypatch):
    broken = programs.BASELINES["SciPy"]._replace(run=lambda graph: lambda: -1)
    monkeypatch.setitem(programs.BASELINES, "SciPy", broken)
    with pytest.raises(AssertionError, match="SciPy: WRONG: -1 pairs, others found"):
        main(["matching", "tiny", "--repeats", "1"])


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
