"""The harness on tiny problems: it must tell the truth, so its arithmetic and its gate are tested."""

import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import command, gpu, instances, timing
from benchmarks import gridcut as grid_benchmark
from benchmarks import gridcut_cuda as cuda_benchmark
from benchmarks.__main__ import main


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


def test_a_wrong_value_is_never_printed(tiny, capsys, monkeypatch):
    monkeypatch.setitem(grid_benchmark.VALUES, "tiny", 1)
    with pytest.raises(AssertionError, match="known 1"):
        main(["gridcut", "tiny", "--quick", "--threads", "1"])
    assert not rows_of(capsys.readouterr().out)


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


@pytest.mark.parametrize("name", ["ising camera", "astronaut"])
def test_instances_are_the_recorded_ones(name):
    """Values found with PyMaxflow; the other instances differ in size and image only."""
    problem = instances.ALL[name]()
    assert problem.source.dtype == np.int32
    assert not problem.edges[0, 1][:, -1].any()
    assert not problem.edges[1, 0][-1].any()
    assert grid_benchmark.solve(problem, "auto", 1).value == instances.VALUES[name]


def test_comparison_with_another_commit(capsys):
    root = Path(__file__).resolve().parents[2]
    assert main(["compare", str(root), "--quick", "--rounds", "1", "--only", "matching"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| matching")]
    assert len(rows) == 8
    assert all("✓" in row for row in rows[:-1])
    assert "geometric mean" in rows[-1]
