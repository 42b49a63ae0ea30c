"""The benchmarks of matching on a GPU: what they print is certified; tiny graphs, and stand-ins for the GPU."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import matching
from benchmarks import command, harness, matching_cuda, table
from benchmarks import greedy as greedy_benchmark
from benchmarks import matching_graphs as graphs
from benchmarks import matching_instances as instances
from benchmarks import matching_programs as programs
from benchmarks import matching_rule as rule_benchmark
from benchmarks import matching_tables as tables
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


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_what_takes_long_is_run_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(matching_cuda, "ONCE_ABOVE", 0.001)
    assert main([*MATCHING, "tiny", "--runs", "3", "--cache", str(tmp_path)]) == 0
    assert rows_of(capsys.readouterr().out)[0][-1] == "1"


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_tables_of_the_papers(tmp_path, capsys):
    assert main([*MATCHING, "--paper", "--runs", "1", "--cache", str(tmp_path)]) == 0
    (row,) = [row for row in rows_of(capsys.readouterr().out) if len(row) == 15]
    assert int(row[3]) == int(row[4]) - 2, "the cheap matching and the maximum"
    assert row[6:8] == ["0.06", "2.73"]


@pytest.mark.usefixtures("as_if_on_a_gpu")
def test_the_rule_for_auto(monkeypatch, capsys):
    """With the CPU in the place of the GPU."""
    monkeypatch.setitem(rule_benchmark.HOW, "cuda", {"device": "cpu"})
    families = {"tiny {}": (lambda scale: graphs.uniform(scale, 2), 12)}
    families |= {"road {}^2": (lambda scale: graphs.road(scale, 0.0), 4)}
    monkeypatch.setattr(rule_benchmark, "FAMILIES", families)
    monkeypatch.setattr(rule_benchmark, "SIZES", range(16, 18))
    assert main([*MATCHING, "--rule", "--runs", "2", "--save", "auto"]) == 0
    printed = capsys.readouterr().out
    assert [row[2] for row in rows_of(printed)] == ["cpu", "cpu"]
    assert len(rows_of(printed, "road")) == 2
    assert "(now)" not in printed  # the rule's own number is beyond these two
    monkeypatch.setattr(rule_benchmark, "SIZES", range(16, 22))
    monkeypatch.setattr(rule_benchmark, "GPU_MIN_EDGES", 1 << 20)
    slow, fast = {"cpu": 2.0, "cuda": 1.0}, {"cpu": 1.0, "cuda": 3.0}
    lines = rule_benchmark.rules([(1 << 20, slow), (1 << 17, fast)]).splitlines()
    found = {
        cells[1].split()[0]: (cells[2].strip(), cells[3].strip()) for cells in (line.split("|") for line in lines[2:])
    }
    assert "| 1048576 (now)" in "\n".join(lines)
    assert found["1048576"] == ("1.000", "1.00")
    assert found["65536"] == ("1.732", "3.00")
    assert found["2097152"] == ("1.414", "2.00")


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


def test_graphs_are_made_once(tmp_path):
    assert instances.prepared(["tiny"], tmp_path) == {"tiny": tmp_path / "tiny.npz"}
    kept = instances.read(tmp_path / "tiny.npz")
    assert kept.size == matching.maximum(GRAPH).cardinality
    assert (kept.adj == GRAPH.indices).all()
    before = (tmp_path / "tiny.npz").stat().st_mtime_ns
    instances.prepared(["tiny"], tmp_path)
    assert (tmp_path / "tiny.npz").stat().st_mtime_ns == before


def test_triangulations_by_strips(monkeypatch):
    monkeypatch.setattr(graphs, "STRIPS", 3)
    found, whole = graphs.delaunay_by_strips(10), graphs.delaunay(10)
    assert found.multiply(whole).nnz == found.nnz, "an edge that is in no triangulation"
    assert whole.nnz - found.nnz < 0.03 * whole.nnz


def test_names_of_variants():
    for name in programs.VARIANTS:
        program = programs.program_of(name)
        assert (program.name, program.init) == (name, "auto")
    assert programs.program_of("ms_bfs_graft-anew+none")[1:4] == ("ms_bfs_graft", "none", {"grafting": False})
    assert set(tables.WITH_PAPER) <= set(programs.VARIANTS)


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


def plain_geometric(scale, degree):
    n = 1 << scale
    points = np.random.default_rng(graphs.SEED).random((n, 2))
    points = points[np.lexsort((points[:, 0], (points[:, 1] * n**0.5 / 4).astype(int)))]
    pairs = cKDTree(points).query_pairs((degree / (np.pi * n)) ** 0.5, output_type="ndarray")
    return plain_symmetric(*pairs.T, n)


def plain_rmat(scale, edges, shares):
    n = 1 << scale
    rng = np.random.default_rng(graphs.SEED)
    row, col = np.zeros(edges * n, np.int64), np.zeros(edges * n, np.int64)
    for _ in range(scale):
        quarter = np.searchsorted(np.cumsum(shares)[:-1], rng.random(edges * n), side="right")
        row, col = 2 * row + quarter // 2, 2 * col + quarter % 2
    return row, col, n


def plain_road(side, missing):
    index = np.arange(side * side).reshape(side, side)
    across = np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    pairs = np.concatenate([across, np.column_stack([index[:-1].ravel(), index[1:].ravel()])])
    kept = np.random.default_rng(graphs.SEED).random(len(pairs)) >= missing
    return plain_symmetric(*pairs[kept].T, side * side)


def plain_symmetric(low, high, n):
    low, high = low[low != high], high[low != high]
    return graphs.pattern(np.concatenate([low, high]), np.concatenate([high, low]), (n, n))


def plain_permuted(graph):
    rng = np.random.default_rng(graphs.SEED)
    found = graph[rng.permutation(graph.shape[0])][:, rng.permutation(graph.shape[1])]
    found.sort_indices()
    return found


def test_graphs_are_those_of_plain_generators():
    skewed = (0.57, 0.19, 0.19, 0.05)
    row, col, n = plain_rmat(8, 5, skewed)
    for found, expected in (
        (graphs.random_geometric(10, 9), plain_geometric(10, 9)),
        (graphs.random_geometric(3, 30), plain_geometric(3, 30)),
        (graphs.rmat(8, 5, skewed, both=True), plain_symmetric(row, col, n)),
        (graphs.rmat(8, 5, skewed), graphs.pattern(row, col, (n, n))),
        (graphs.road(20, 0.3), plain_road(20, 0.3)),
        (graphs.permuted(GRAPH), plain_permuted(GRAPH)),
    ):
        assert found.shape == expected.shape
        assert found.indices.dtype == found.indptr.dtype == np.int32
        assert (found.indptr == expected.indptr).all()
        assert (found.indices == expected.indices).all()


def test_permuted_graphs_are_made_of_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(instances, "known", lambda: {"tiny": lambda: GRAPH, "tiny permuted": None})
    paths = instances.prepared(["tiny permuted", "tiny"], tmp_path)
    kept, expected = instances.read(paths["tiny permuted"]), plain_permuted(GRAPH)
    assert (kept.adj == expected.indices).all()
    assert kept.size == matching.maximum(expected).cardinality


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
