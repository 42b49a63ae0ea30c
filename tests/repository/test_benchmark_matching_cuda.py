"""The benchmarks of matching on a GPU: what they print is certified; tiny graphs, and stand-ins for the GPU."""

import numpy as np
import pytest

import matching
from benchmarks import command, harness, table
from benchmarks import greedy as greedy_benchmark
from benchmarks import matching_graphs as graphs
from benchmarks import matching_instances as instances
from benchmarks import matching_programs as programs
from benchmarks.__main__ import main
from gridcut.device import CertificateError

sim = pytest.mark.sim
GRAPH = graphs.uniform(12, 2)
MATCHING = ["matching", "--device", "cuda"]
GREEDY = ["greedy", "--device", "cuda"]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    families = {"tiny": lambda: GRAPH, "grid": lambda: graphs.road(4, 0.0)}
    monkeypatch.setattr(instances, "known", lambda: families)
    monkeypatch.setattr(instances, "ON_GPU", tuple(families))
    monkeypatch.setattr(instances, "GREEDY", families)
    monkeypatch.setattr(instances, "PRINTED", {"tiny": instances.PRINTED["delaunay_n20"]})
    monkeypatch.setattr(instances, "ECL_MM", {"tiny": 8.0})
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results")


def rows_of(printed, first="tiny"):
    lines = [line for line in printed.splitlines() if line.startswith(f"| {first}")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


class StandIn:
    """A Worker that has run; `told` says how runs of a program end."""

    told = {}

    def __init__(self, path, limit, kind=None):
        self.kept = instances.read(path)

    def open(self):
        return self.kept.shape, len(self.kept.adj), self.kept.size

    def ask(self, what, program=None, calls=False, patience=0.0):
        size = self.kept.size
        if what in ("compile", "certify"):
            return None
        if what == "cpu":
            return 0.02, size
        end = self.told.get(program.name)
        if isinstance(end, Exception):
            raise end
        method, _, init, _ = (
            ("portfolio", None, "none", None) if program.method == "auto" else programs.steps_of(program)
        )
        whole = (0.004, 0.01) if calls else (None, None)
        stats = {"phases": 3, "levels": 20, "missing": 2}
        return programs.GpuRun(0.001, 0.001 * (1 + len(program.name)), *whole, size, end, method, init, stats)

    def stop(self):
        pass


@pytest.fixture
def as_if_on_a_gpu(monkeypatch):
    gpu = {"name": "a stand-in", "memory": 2**33, "driver": "1.0"}
    monkeypatch.setattr(command, "gpu_facts", lambda: gpu)
    monkeypatch.setattr(harness, "Worker", StandIn)
    monkeypatch.setattr(StandIn, "told", {})
    monkeypatch.setattr(programs, "steps_of", lambda p: (p.method, None, "cheap" if p.init == "auto" else p.init, None))


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_table(tmp_path, capsys):
    for name in ("tiny", "grid"):  # one by one: processes of their own would not know them
        instances.prepared([name], tmp_path)
    how = ["--method", "auto,g_pr_shr-fix-10+none", "--runs", "2", "--cache", str(tmp_path)]
    assert main([*MATCHING, *how, "--save"]) == 0
    printed = capsys.readouterr().out
    assert "a stand-in, 8 GiB, driver 1.0" in printed
    first, second, *_ = rows_of(printed)
    assert first[4:13] == ["auto", "portfolio", "none", "✓", "1.00", "5.00", "6.00", "6.00", "4.00"]
    assert first[13:21] == ["10.00", "20.00", "3.33", "2.00", "8", "1.33", "3", "20"]
    assert first[-1] == "2"
    assert second[4:8] == ["g_pr_shr-fix-10+none", "g_pr_shr", "none", "✓"]
    assert "| auto" in printed
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"matching-cuda.md"}
    assert {path.name for path in tmp_path.glob("*.npz")} == {"tiny.npz", "grid.npz"}


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_what_is_not_right_has_no_times(monkeypatch, tmp_path, capsys):
    wrong = {"apfb": "5 pairs of 9", "apsb": TimeoutError(), "g_pr_shr": RuntimeError("no such address")}
    monkeypatch.setattr(StandIn, "told", wrong)
    how = ["--method", "auto,apfb,apsb,g_pr_shr", "--cache", str(tmp_path)]
    assert main([*MATCHING, "tiny", *how]) == 1, "what is wrong must not go unnoticed"
    right, *others = [row for row in rows_of(capsys.readouterr().out) if len(row) > 8]
    assert right[7] == "✓"
    assert [row[7] for row in others] == ["WRONG: 5 pairs of 9", "stopped", "failed: no such address"]
    assert all(set(row[8:]) == {"-"} for row in others)
    monkeypatch.setattr(StandIn, "told", {"apsb": TimeoutError()})
    assert main([*MATCHING, "tiny", "--method", "auto,apsb", "--cache", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*MATCHING, "nowhere"], "unknown instance 'nowhere'; there are: tiny, grid"),
        ([*MATCHING, "--method", "hopcroft_karp"], "no method 'hopcroft_karp' on CUDA; there are auto, apfb"),
        ([*MATCHING, "--method", "apfb+karp_sipser_one_sided"], "no init 'karp_sipser_one_sided' on CUDA; there are"),
        ([*GREEDY, "nowhere"], "unknown instance 'nowhere'; there are: tiny, grid"),
    ],
)
def test_unknown_names(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().out


def test_no_gpu_no_table(monkeypatch, capsys):
    monkeypatch.setattr(command, "gpu_facts", lambda: None)
    for arguments in (MATCHING, GREEDY):
        assert main(arguments) == 2
        assert "no CUDA GPU" in capsys.readouterr().out


def test_a_worker_that_is_silent_is_stopped(tmp_path):
    (path,) = instances.prepared(["tiny"], tmp_path).values()
    worker = harness.Worker(path, 1e-6, programs.GpuBench)
    with pytest.raises(TimeoutError):
        worker.ask("cpu")
    assert worker.child is None
    with pytest.raises(RuntimeError, match="no_such_method"):
        worker.ask("no_such_method", patience=60)
    seconds, size = worker.ask("cpu", patience=60)
    assert seconds > 0
    assert size == matching.maximum(GRAPH).cardinality
    worker.stop()


def test_wrong_matchings_are_seen(tmp_path):
    (path,) = instances.prepared(["tiny"], tmp_path).values()
    bench = programs.GpuBench()
    bench.open(path)
    found = matching.maximum(GRAPH)
    row, col = found.row_match.copy(), found.col_match.copy()
    bench.found = row, col
    bench.certify()
    row[np.flatnonzero(row >= 0)[0]] = -1
    with pytest.raises(CertificateError, match="matched to a vertex|matched along no edge"):
        bench.certify()
    bench.found = found.row_match, np.roll(found.col_match, 1)
    with pytest.raises(CertificateError, match="matched along no edge"):
        bench.certify()


# In the simulator


@sim
def test_programs_in_a_process_of_their_own(tmp_path, capsys):
    """And in this one, without a limit."""
    instances.prepared(["tiny"], tmp_path)
    for limit in ("60", "0"):
        how = ["--method", "auto,apfb-gpubfs_wr-ct", "--runs", "1", "--timeout", limit, "--cache", str(tmp_path)]
        assert main([*MATCHING, "tiny", *how]) == 0
        rows = [row for row in rows_of(capsys.readouterr().out) if len(row) > 8]
        assert [row[7] for row in rows] == ["✓", "✓"]
        assert all(float(cell) > 0 for row in rows for cell in row[9:15])


@sim
def test_greedy_matchings(tmp_path, capsys):
    assert main([*GREEDY, "grid", "--runs", "1", "--timeout", "0", "--cache", str(tmp_path), "--save"]) == 0
    rows = {row[3]: row for row in rows_of(capsys.readouterr().out, "grid")}
    assert set(rows) == {program.name for program in greedy_benchmark.ON_GPU}
    assert all(row[4] == "✓" for row in rows.values())
    assert all(rows[f"{name}, GPU"][5] == "✓" for name in ("parallel", "parallel, heaviest"))
    assert rows["locally_dominant, CPU"][9] == "100.00"
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["greedy-cuda.md"]
