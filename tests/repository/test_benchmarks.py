"""The benchmarks on tiny problems: whole runs, and the gate of what they print."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    command,
    gpu,
    graph_instances,
    gridcut_cuda,
    instances,
    matching_graphs,
    matching_instances,
    papers,
    table,
)
from benchmarks import gridcut as grids
from benchmarks.__main__ import main
from benchmarks.baselines import BASELINES, Baseline
from tests.tiers import in_quick_tier

ROOT = Path(__file__).resolve().parents[2]
GRAPH = matching_graphs.uniform(12, 2)
CUDA = ["--device", "cuda"]
STAND_IN = "a stand-in, 8 GiB, driver 1.0"


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    """Stand-ins for the instances, and a folder for tables."""
    rng = np.random.default_rng(0)
    source, sink, right, down = rng.integers(0, 50, (4, 9, 7), dtype=np.int32)
    problem = instances.Problem(source, sink, {(0, 1): right, (1, 0): down})
    for suite in (instances.ALL, instances.SUITE):
        monkeypatch.setitem(suite, "tiny", lambda: problem)
    monkeypatch.setitem(instances.VALUES, "tiny", grids.solve(problem, "auto", 1).value)
    plain = {"tiny": lambda: GRAPH, "grid": lambda: matching_graphs.road(4, 0.0)}
    known = matching_instances.with_permuted(plain)
    monkeypatch.setattr(matching_instances, "known", lambda: known)
    for name in ("PLAIN", "ON_GPU", "GREEDY"):
        monkeypatch.setattr(matching_instances, name, plain)
    for suite in (graph_instances.INSTANCES, graph_instances.LARGE):
        monkeypatch.setitem(suite, "tiny", lambda: graph_instances.path(40))
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results")
    return problem


@pytest.fixture
def as_if_on_a_gpu(monkeypatch):
    """The CPU in the GPU's place."""
    monkeypatch.setattr(command, "gpu_name", lambda: STAND_IN)
    monkeypatch.setattr(gpu, "synchronize", lambda: None)
    monkeypatch.setattr(gpu, "device_array", lambda array: array)
    monkeypatch.setattr(gridcut_cuda, "free_memory", lambda flush=True: 10**6)
    monkeypatch.setattr(gridcut_cuda, "DEVICE", "cpu")


def rows_of(printed, first="tiny"):
    lines = [line for line in printed.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


RUNS = {  # command: certified rows of instances that begin with this word
    "gridcut tiny --quick --repeats 1 --threads 1": ("tiny", 1),
    "matching tiny --runs 1 --method auto,hopcroft_karp+none --threads 1,2": ("tiny", 4),
    "graphs tiny --rounds 1 --limit 0": ("tiny", 1),
    "labels motorcycle --repeats 1": ("motorcycle", 1),
    "assign u100 --dense --sizes 20 --repeats 1": ("u100", 1),
    "cost_flow --sizes 200 --repeats 1": ("grid", 0),
    "small --rows 10 --sides 8 --rounds 3": ("noise", 0),
    "greedy grid --runs 1 --timeout 0": ("grid", 5),
    f"compare {ROOT} --quick --rounds 1 --only matching": ("matching", 11),
}


@pytest.mark.parametrize("line", RUNS)
def test_run(line, capsys):
    first, certified = RUNS[line]
    assert main(shlex.split(line)) == 0
    rows = rows_of(capsys.readouterr().out, first)
    assert rows
    assert sum("✓" in row for row in rows) == certified


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_grids_as_if_on_a_gpu(capsys):
    how = ["--repeats", "1", "--runs", "2", "--method", "ibfs,push_relabel", "--warm", "tiny", "--save"]
    assert main(["gridcut", *CUDA, "tiny", *how]) == 0
    printed = capsys.readouterr().out
    assert "a stand-in, 8 GiB, driver 1.0" in printed
    rows = rows_of(printed)
    assert [row[2] for row in rows if row[-1] == "2 of 2"] == ["ibfs", "push_relabel"]
    assert len([row for row in rows if "1%" in row[2]]) == 2 * len(grids.CHANGES)
    assert [path.name for path in table.RESULTS.iterdir()] == ["gridcut-cuda.md"]


@pytest.mark.parametrize("device", [[], CUDA])
@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_a_wrong_value_is_never_printed(device, capsys, monkeypatch):
    monkeypatch.setitem(instances.VALUES, "tiny", 1)
    with pytest.raises(AssertionError, match="known 1"):
        main(["gridcut", *device, "tiny", "--quick"])
    assert not rows_of(capsys.readouterr().out)


def test_a_baseline_that_disagrees_ends_the_run(monkeypatch):
    monkeypatch.setitem(BASELINES["matching"], "SciPy", Baseline("scipy", "scipy", lambda graph: lambda: -1))
    with pytest.raises(AssertionError, match="SciPy: WRONG: -1 pairs, others found"):
        main(["matching", "tiny", "--runs", "1"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no such benchmark", "NAME is one of"),
        ("gridcut nowhere", "unknown instance 'nowhere'; there are: astronaut, astronaut x4"),
        ("matching nowhere", "unknown instance 'nowhere'; there are: tiny, grid"),
        ("matching --method auto,best", "no method 'best'; there are auto, "),
        ("matching --device cuda --method hopcroft_karp", "no method 'hopcroft_karp' on CUDA; there are auto, apfb"),
        ("greedy --device cuda nowhere", "unknown instance 'nowhere'; there are: tiny, grid"),
        ("devices nowhere", "there are: image, volume, dense"),
        ("papers knuth", "unknown instance 'knuth'; there are: lupinska"),
    ],
)
def test_unknown_names(line, message, capsys):
    assert main(line.split()) == 2
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ising camera", "astronaut"])
def test_instances_are_the_recorded_ones(name):
    """Values found with PyMaxflow; the other instances differ in size and image only."""
    problem = instances.ALL[name]()
    assert problem.source.dtype == np.int32
    assert not problem.edges[0, 1][:, -1].any()
    assert not problem.edges[1, 0][-1].any()
    assert grids.solve(problem, "auto", 1).value == instances.VALUES[name]


@pytest.mark.parametrize("name", in_quick_tier(papers.NAMES, ("azad", "fagginger_auer").__contains__))
def test_a_paper(name, capsys):
    """Tables, and what needs a GPU is listed as not run."""
    papers.run(name, quick=True, keep="{paper}")
    assert "load" in capsys.readouterr().out.splitlines()[2]
    text = (table.RESULTS / f"{name.replace('_', '-')}.md").read_text("utf-8")
    assert text.count("\n## ") > 1
    assert "## Not run: these need a GPU" in text


# With a GPU, or in the simulator
