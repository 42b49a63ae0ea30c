"""The harness on tiny problems: it must tell the truth, so its arithmetic and its gate are tested."""

import re
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import command, gpu, instances, table, timing
from benchmarks import gridcut as grid_benchmark
from benchmarks import gridcut_cuda as cuda_benchmark
from benchmarks.__main__ import main
from benchmarks.baselines import BASELINES


@pytest.fixture
def tiny(monkeypatch):
    """A stand-in for every instance, of known value."""
    rng = np.random.default_rng(0)
    source, sink, right, down = rng.integers(0, 50, (4, 9, 7), dtype=np.int32)
    problem = instances.Problem(source, sink, {(0, 1): right, (1, 0): down})
    value = grid_benchmark.solve(problem, "auto", 1).value
    monkeypatch.setitem(grid_benchmark.ALL, "tiny", lambda: problem)
    monkeypatch.setitem(grid_benchmark.SUITE, "tiny", lambda: problem)
    monkeypatch.setitem(grid_benchmark.VALUES, "tiny", value)
    return problem


def rows_of(printed):
    return [line for line in printed.splitlines() if line.startswith("| tiny")]


def test_quick_table(tiny, capsys):
    assert main(["gridcut", "tiny", "--quick", "--repeats", "1", "--threads", "1"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert "✓" in row
    assert "9x7" in row


@pytest.mark.slow
def test_full_row_with_fresh_processes(tiny, capsys):
    assert main(["gridcut", "tiny", "--repeats", "1", "--threads", "1"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert float(cells[5]) > 0.1, "a first call in an empty cache compiles"
    assert float(cells[6]) < float(cells[5])


def test_a_wrong_value_is_never_printed(tiny, capsys, monkeypatch):
    monkeypatch.setitem(grid_benchmark.VALUES, "tiny", 1)
    with pytest.raises(AssertionError, match="known 1"):
        main(["gridcut", "tiny", "--quick", "--threads", "1"])
    assert not rows_of(capsys.readouterr().out)


def test_missing_baseline_is_listed_as_missing(tiny, capsys, monkeypatch):
    monkeypatch.setitem(BASELINES, "PyMaxflow", BASELINES["PyMaxflow"]._replace(module="no_such_module"))
    assert main(["gridcut", "tiny", "--quick", "--repeats", "1", "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert "missing" in rows_of(printed)[0]
    assert "PyMaxflow is missing" in printed


def test_warm_table(tiny, capsys):
    assert main(["gridcut", "--warm", "tiny", "--repeats", "1"]) == 0
    assert "✓" in rows_of(capsys.readouterr().out)[0]


def test_results_are_saved_whole(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results")
    main(["gridcut", "tiny", "--quick", "--repeats", "1", "--threads", "1", "--save"])
    (path,) = (tmp_path / "results").iterdir()
    text = path.read_text("utf-8")
    assert path.name == "gridcut-cpu.md"
    assert re.search(r"numba \d.*\d{4}-\d\d-\d\d\.", text)
    assert rows_of(text)


def test_names_and_unknown_instances(capsys):
    assert main(["no such benchmark"]) == 2
    assert main(["gridcut", "no such instance"]) == 2
    assert "astronaut x4" in capsys.readouterr().out


@pytest.fixture
def as_if_on_a_gpu(tiny, monkeypatch):
    """The CUDA table with the CPU in the GPU's place: the harness is tested, not the device."""
    for module, name, stand_in in [
        (command, "gpu_facts", lambda: {"name": "a stand-in", "memory": 2**33, "driver": "1.0"}),
        (gpu, "synchronize", lambda: None),
        (cuda_benchmark, "free_memory", lambda flush=True: 10**6),
        (gpu, "device_array", lambda array: array),
        (cuda_benchmark, "DEVICE", "cpu"),
    ]:
        monkeypatch.setattr(module, name, stand_in)


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_cuda_table(capsys, monkeypatch):
    arguments = ["gridcut", "--device", "cuda", "tiny", "--repeats", "1", "--runs", "2"]
    assert main([*arguments, "--method", "ibfs,push_relabel"]) == 0
    printed = capsys.readouterr().out
    assert "a stand-in, 8 GiB, driver 1.0" in printed
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows_of(printed) if "9x7" in row]
    assert [row[2] for row in rows] == ["ibfs", "push_relabel"]
    assert all(row[3] == "✓" and row[-1] == "2 of 2" for row in rows)
    main([*arguments, "--warm", "tiny"])
    printed = capsys.readouterr().out
    assert len([row for row in rows_of(printed) if "1%" in row]) == len(grid_benchmark.CHANGES)
    monkeypatch.setitem(cuda_benchmark.VALUES, "tiny", 1)
    with pytest.raises(AssertionError, match="known 1"):
        main(arguments)


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_a_method_over_the_cap_is_listed_as_stopped(capsys):
    main(["gridcut", "--device", "cuda", "tiny", "--quick", "--timeout", "0"])
    (row,) = rows_of(capsys.readouterr().out)
    assert "stopped" in row
    assert "> 0" in row
    assert "✓" not in row


@pytest.mark.gpu
@pytest.mark.usefixtures("tiny")
def test_tables_on_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr(cuda_benchmark, "BATCH_OF", ("ising camera",))
    quick = ["--quick", "--repeats", "1", "--runs", "2"]
    assert main(["gridcut", "--device", "cuda", "tiny", *quick, "--batch", "3", "--warm", "tiny"]) == 0
    printed = capsys.readouterr().out
    assert len([row for row in rows_of(printed) if "✓" in row]) == 1 + len(grid_benchmark.CHANGES)
    assert "| in one batch, on card" in printed


def test_no_gpu_no_cuda_table(capsys, monkeypatch):
    monkeypatch.setattr(command, "gpu_facts", lambda: None)
    assert main(["gridcut", "--device", "cuda", "astronaut"]) == 2
    assert "no CUDA GPU" in capsys.readouterr().out


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_batch_table(capsys, monkeypatch):
    monkeypatch.setattr(cuda_benchmark, "BATCH_OF", ("ising camera",))
    assert main(["gridcut", "--device", "cuda", "--batch", "3", "--repeats", "1"]) == 0
    rows = [row for row in capsys.readouterr().out.splitlines() if row.startswith(("| in one", "| one after"))]
    assert len(rows) >= 5
    assert all("✓" in row for row in rows)


def test_crops_are_problems_of_their_own(monkeypatch):
    monkeypatch.setattr(cuda_benchmark, "BATCH_OF", ("ising camera", "astronaut"))
    stack = cuda_benchmark.crops(7, side=32)
    assert stack.source.shape == (7, 32, 32)
    assert not stack.edges[0, 1][:, :, -1].any()
    assert not stack.edges[1, 0][:, -1].any()


def test_interleaving_and_medians(monkeypatch):
    order, now, costs = [], [0.0], {"a": iter([1, 5, 3]), "b": iter([2, 2, 9])}
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def run(name):
        order.append(name)
        now[0] += next(costs[name])
        return name.upper()

    seconds, results = timing.rounds({name: partial(run, name) for name in "ab"}, 3)
    assert order == ["a", "b"] * 3
    assert seconds == {"a": 3, "b": 2}
    assert results == {"a": "A", "b": "B"}


def test_memory_probe_counts_what_a_solver_needs_and_not_the_inputs():
    baseline = BASELINES["PyMaxflow"]
    if not baseline.installed:
        pytest.skip("PyMaxflow is not installed (extra 'bench')")
    if not timing.Path("/proc/self/clear_refs").exists():
        pytest.skip("peak memory is measured on Linux only")
    shape = (600, 500)
    source = np.full(shape, 3, np.int32)
    problem = instances.Problem(source, source[::-1].copy(), {(0, 1): source, (1, 0): source})
    peak = timing.probed("memory", problem, solver="PyMaxflow")["peak"] / source.size
    # a node takes 48 bytes and an edge two arcs of 32: 176 and what numpy adds
    assert 150 < peak < 260


def test_saved_problems_come_back(tmp_path):
    problem = instances.vessels(12, 26)
    problem.save(tmp_path)
    again = instances.Problem.read(tmp_path)
    np.testing.assert_array_equal(again.source, problem.source)
    assert list(again.edges) == list(problem.edges)
    assert len(again.edges) == 13


@pytest.mark.parametrize("name", ["ising camera", "astronaut"])
def test_instances_are_the_recorded_ones(name):
    """Values found with PyMaxflow; the other instances differ in size and image only."""
    problem = instances.ALL[name]()
    assert problem.source.dtype == np.int32
    assert not problem.edges[0, 1][:, -1].any()
    assert not problem.edges[1, 0][-1].any()
    assert grid_benchmark.solve(problem, "auto", 1).value == instances.VALUES[name]


@pytest.mark.slow
def test_volume_table(capsys):
    assert main(["volume", "--size", "12"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if "12x12x12" in line and "|" in line]
    assert [row[1].strip() for row in rows] == [
        "max_flow, scalar",
        "max_flow, arrays",
        "max_flow, floats",
        "cutmatch segment",
    ]
    assert all(0 < float(row[5]) <= float(row[7]) for row in rows)


def test_comparison_with_another_commit(capsys):
    root = Path(__file__).resolve().parents[2]
    assert main(["compare", str(root), "--quick", "--rounds", "1", "--only", "matching"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| matching")]
    assert len(rows) == 8
    assert all("✓" in row for row in rows[:-1])
    assert "geometric mean" in rows[-1]
