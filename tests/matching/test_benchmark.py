"""The matching benchmark on tiny graphs: it prints what is certified, and nothing else."""

import pytest

from benchmarks import matching as benchmark
from benchmarks import matching_instances as instances
from benchmarks.__main__ import main


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(instances, "GRAPHS", {"tiny": lambda: instances.uniform(60, 3)})


def test_a_row(tiny, capsys):
    assert main(["matching", "tiny", "--repeats", "1", "--method", "auto,hopcroft_karp"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| tiny")]
    assert len(rows) == 2
    assert all("✓" in row for row in rows)


def test_a_rival_that_disagrees_ends_the_run(tiny, monkeypatch):
    monkeypatch.setattr(benchmark, "scipy_run", lambda graph: lambda: -1)
    with pytest.raises(AssertionError, match="SciPy found -1 pairs"):
        main(["matching", "tiny", "--repeats", "1"])


def test_unknown_graph(capsys):
    assert main(["matching", "nowhere"]) == 2
    assert "no graph 'nowhere'" in capsys.readouterr().out


@pytest.mark.parametrize("name", list(instances.QUICK))
def test_graphs_are_sorted_and_without_duplicates(name):
    graph = instances.QUICK[name]()
    assert graph.has_canonical_format
    again = instances.permuted(graph)
    assert again.nnz == graph.nnz
    assert again.has_sorted_indices


def test_ladder_has_two_diagonals():
    assert instances.ladder(4).toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
