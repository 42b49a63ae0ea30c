"""The experiments of the papers run on tiny instances, and the commands that the documentation lists exist."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from benchmarks import (
    assign,
    graph_instances,
    graphs,
    graphs_cuda,
    greedy,
    gridcut,
    gridcut_cuda,
    harness,
    instances,
    matching,
    matching_cuda,
    matching_graphs,
    matching_instances,
    papers,
)
from benchmarks.__main__ import NAMES, main
from benchmarks.baselines import Baseline
from benchmarks.papers import deveci_gpu, lupinska_gpu
from benchmarks.papers.sections import text_of
from gridcut import graph_max_flow
from tests.tiers import in_quick_tier

PAGE = Path(__file__).resolve().parents[2] / "docs/benchmarks/papers.md"
PARSERS = {
    "papers": lambda cuda: papers.parser(),
    "gridcut": lambda cuda: gridcut_cuda.parser() if cuda else gridcut._parser(),
    "matching": lambda cuda: matching_cuda.parser() if cuda else matching.parser(),
    "greedy": lambda cuda: greedy._parser("cuda" if cuda else "cpu"),
    "assign": lambda cuda: assign.parser(),
    "graphs": lambda cuda: graphs_cuda._parser() if cuda else graphs._parser(),
}
OWN_DEVICE = ("papers", "assign")  # their parsers know --device


def commands():
    """The commands of the page, and those that the papers' modules list for a GPU."""
    found = re.findall(r"`((?:papers|assign|greedy|gridcut|matching) [^`]+)`", PAGE.read_text("utf-8"))
    found += re.findall(r"python -m benchmarks ([^`#\n]+?)(?= *[`#\n])", PAGE.read_text("utf-8"))
    for name in papers.NAMES:
        module = __import__(f"benchmarks.papers.{name}", fromlist=["ON_GPU"])
        found += [line for _, line in module.ON_GPU]
    return sorted(set(found))


@pytest.mark.parametrize("name", in_quick_tier(papers.NAMES, ("azad", "fagginger_auer").__contains__))
def test_quick_setting(name, capsys, tmp_path, monkeypatch):
    """Tables, and what needs a GPU is listed as not run."""
    monkeypatch.setattr(papers, "save", lambda stem, text: (tmp_path / stem).write_text(text, "utf-8"))
    papers.run(name, quick=True, keep=True)
    printed = capsys.readouterr().out
    assert "load" in printed.splitlines()[2]
    text = (tmp_path / papers.stem_of(name)).read_text("utf-8")
    assert text.count("\n## ") > 1
    assert "## Not run: these need a GPU" in text


def test_unknown_paper(capsys):
    assert main(["papers", "knuth"]) == 2
    assert "no paper 'knuth'; there are lupinska" in capsys.readouterr().out


@pytest.mark.parametrize("line", commands())
def test_listed_commands_exist(line):
    name, *rest = shlex.split(line)
    assert name in NAMES
    cuda = "--device" in rest
    if cuda and name not in OWN_DEVICE:
        at = rest.index("--device")
        rest = rest[:at] + rest[at + 2 :]
    options = PARSERS[name](cuda).parse_args(rest)
    if name == "papers":
        assert set(options.names) <= set(papers.NAMES)


@pytest.mark.sim
def test_the_gpu_experiments_in_the_simulator(monkeypatch):
    rng = np.random.default_rng(0)
    source, sink, right, down = rng.integers(0, 9, (4, 2, 3), dtype=np.int32)
    problem = instances.Problem(source, sink, {(0, 1): right, (1, 0): down})
    monkeypatch.setitem(instances.SUITE, "astronaut", lambda: problem)
    for name, value in (
        ("CYCLES", (3,)),
        ("BLOCKS", (32,)),
        ("REPEATS", 1),
        ("RECTANGLES", ((4, 8),)),
        ("PUSHES", (2,)),
        ("TEST_EVERY", 6),
    ):
        monkeypatch.setattr(lupinska_gpu, name, value)
    monkeypatch.setattr(lupinska_gpu, "KEPT", {"hybrid": {"block": 32}, "cudacuts": {"block": (8, 4)}})
    (section,) = lupinska_gpu.cuts(quick=True)
    text = text_of(section)
    assert "cycle = 3" in text
    assert "pushes = 2, global_every = 2" in text
    assert text.count("default, again") == 4


def test_the_assignments_of_the_gpu_on_a_cpu(monkeypatch):
    monkeypatch.setattr(lupinska_gpu, "DEVICE", "cpu")
    monkeypatch.setattr(lupinska_gpu, "REPEATS", 1)
    (section,) = lupinska_gpu.assignments(quick=True)
    assert "alpha = 100" in text_of(section)
    assert "default, again" in text_of(section)


@pytest.fixture
def tiny_matchings(monkeypatch):
    """One small graph and its permutation, and of the variants of each kind of program the papers' choice."""
    plain = {"uniform": lambda: matching_graphs.uniform(12, 2)}
    monkeypatch.setattr(matching_instances, "known", lambda: matching_instances.with_permuted(plain))
    for name, value in (("QUICK", ("uniform",)), ("LIMIT", None), ("ROUNDS", 1)):
        monkeypatch.setattr(deveci_gpu, name, value)
    monkeypatch.setattr(deveci_gpu, "AUGMENTING", (deveci_gpu.BEST_AUGMENTING,))
    monkeypatch.setattr(deveci_gpu, "PUSHING", (deveci_gpu.BEST_PUSHING,))
    deveci_gpu.measured.cache_clear()
    yield
    deveci_gpu.measured.cache_clear()


@pytest.mark.sim
def test_matchings_from_the_serial_start_in_the_simulator(tiny_matchings):
    programs = [program.name for program in deveci_gpu.programs()]
    assert {deveci_gpu.BEST_AUGMENTING, deveci_gpu.BEST_PUSHING} < set(programs)
    for one in deveci_gpu.measured(True):
        assert one.state == dict.fromkeys(programs, harness.CERTIFIED)
    sections = [section for make in (*deveci_gpu.ICPP, *deveci_gpu.EUROPAR) for section in make(True)]
    texts = [text_of(section) for section in sections]
    assert "| uniform permuted" in texts[0]
    for text, name in zip(texts[1:3], [deveci_gpu.BEST_PUSHING] * 2, strict=True):
        assert name in text
    for text, name in ((texts[1], deveci_gpu.BEST_PUSHING), (texts[4], deveci_gpu.BEST_AUGMENTING)):
        assert f"| {name}, again |" in text


def measured_path(monkeypatch, module: str, surplus: int = 0):
    """What is measured on the CPU of a path; PyMaxflow's place is taken by a program of perhaps another value."""

    def run(arrays):
        cut = graph_max_flow(*arrays)
        return cut.value + surplus, cut.labels

    stand_in = Baseline(module, module, run, lambda *arrays: arrays)
    monkeypatch.setitem(graphs.BASELINES, "PyMaxflow", stand_in)
    monkeypatch.setitem(graph_instances.LARGE, "path", lambda: graph_instances.path(40))
    programs = [graphs.GraphProgram(name, {"method": name}) for name in ("ibfs", "auto")]
    programs += [graphs.GraphProgram("CPU"), *[graphs.GraphProgram("PyMaxflow")] * stand_in.installed]
    return harness.measure("path", harness.Worker("path", None, graphs.GraphBench), programs, 1, 1.0)


@pytest.mark.parametrize(("module", "runs"), [("numpy", 1), ("not_installed", 0)])
def test_cuts_of_graphs_of_the_gpu_on_a_cpu(module, runs, monkeypatch):
    found = measured_path(monkeypatch, module)
    found.state["waves"] = "stopped"
    ratios = {method: {"CPU": [], "PyMaxflow": []} for method in ("ibfs", "auto", "waves")}
    *rows, stopped = graphs_cuda.rows_of(found, ratios)
    assert [row[:5] for row in rows] == [["path", "40", "78", method, harness.CERTIFIED] for method in ("ibfs", "auto")]
    assert [len(row) for row in (*rows, stopped)] == [len(graphs_cuda.COLUMNS)] * 3
    assert stopped[3:8] == ["waves", "-", "-", "-", "stopped"]
    for row, method in zip(rows, ratios, strict=False):
        assert [len(of) for of in ratios[method].values()] == [1, runs]
        assert (row[-1] == "-") == (runs == 0)
