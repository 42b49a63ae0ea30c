"""Grids in blocks: values and labels of the solver in memory, certificates, killed runs, and arrays on disk."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gridcut
from gridcut.blocks import plan, solve, store
from gridcut.blocks.distance import FAR
from gridcut.blocks.relabel import Relabeling
from gridcut.certificate import CertificateError
from gridcut.device.arrays import to_host

ROOT = Path(__file__).resolve().parents[2]
NEIGHBOURHOODS = {
    "4": ((40, 30), gridcut.neighbourhood(4)),
    "8": ((40, 30), gridcut.neighbourhood(8)),
    "6": ((40, 9, 8), gridcut.neighbourhood(6)),
    "26": ((28, 9, 8), gridcut.neighbourhood(26)),
    "line": ((100,), [(1,)]),
    "long line": ((100,), [(1,), (2,), (-3,)]),
    "far": ((60, 20), [(0, 2), (1, 2), (-2, 1)]),
    "one-way": ((60, 20), [(0, 1), (0, -1), (1, 0), (-1, 3)]),
    "rows alone": ((60, 20), [(0, 1)]),
    "longer than the grid": ((9, 20), [(0, 1), (1, 0), (30, 0)]),
}


@pytest.fixture
def cut_in(monkeypatch):
    """cut_in(n)(...) is max_flow in blocks of n strips, or of as many as there can be, certified."""

    def solver(count):
        def strips(lines, reach, line_bytes, memory):
            least = max(1, 2 * reach)
            n = max(1, min(count, lines // least))
            return [i * lines // n for i in range(n + 1)]

        def in_blocks(source, sink, edges, **keywords):
            monkeypatch.setattr(plan, "strips", strips)
            cut = gridcut.max_flow(source, sink, edges, method="blocks", **keywords)
            cut.check()
            return cut

        return in_blocks

    return solver


def assert_same(cut, want):
    assert cut.value == want.value
    assert type(cut.value) is type(want.value)
    assert np.array_equal(cut.labels, want.labels)


@pytest.mark.parametrize("name", NEIGHBOURHOODS)
@pytest.mark.parametrize("density", [0.02, 0.2])
def test_same_cut_as_in_memory(name, density, cut_in, tools):
    shape, offsets = NEIGHBOURHOODS[name]
    rng = np.random.default_rng(len(name))
    for count in (1, 3, 8, 20):
        for mask in (None, "random"):
            source, sink, edges, mask = tools.random_problem(rng, shape, offsets, density=density, mask=mask)
            edges = {o: c if np.ndim(c) == 0 else rng.integers(0, 9, shape, dtype=np.int32) for o, c in edges.items()}
            want = tools.solve(source, sink, edges, mask=mask)
            assert_same(cut_in(count)(source, sink, edges, mask=mask), want)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64])
def test_capacity_types(dtype, cut_in, tools):
    rng = np.random.default_rng(3)
    source, sink, edges, mask = tools.random_problem(rng, (30, 20), gridcut.neighbourhood(8), dtype, 200, 0.7, "random")
    assert_same(cut_in(5)(source, sink, edges, mask=mask), tools.solve(source, sink, edges, mask=mask))


def test_large_integers_stay_exact(cut_in, tools):
    rng = np.random.default_rng(4)
    source, sink, edges, _ = tools.random_problem(rng, (30, 9), gridcut.neighbourhood(4), np.int64, 2**58, 0.5)
    cut = cut_in(6)(source, sink, edges)
    assert cut.stats["dtype"] == "int64"
    assert_same(cut, tools.solve(source, sink, edges))


def snake(height, width):
    """A path that runs down and up the columns in turn: all flow crosses all borders `width` times."""
    source, sink = np.zeros((2, height, width), np.int32)
    source[0, 0] = 7
    sink[0 if width % 2 == 0 else height - 1, width - 1] = 9
    down, up = (np.zeros((height, width), np.int32) for _ in range(2))
    down[:-1, ::2] = 5
    up[1:, 1::2] = 5
    right = np.zeros((height, width), np.int32)
    right[-1, :-1:2] = 6
    right[0, 1:-1:2] = 6
    return source, sink, {(1, 0): down, (-1, 0): up, (0, 1): right, (0, -1): 0}


@pytest.mark.parametrize("count", [2, 5, 12])
@pytest.mark.parametrize("many", [0, 64])
def test_flow_that_crosses_every_border_many_times(count, many, cut_in, tools, monkeypatch):
    """many=0: blocks of the same strips throughout, on which the bound of sweeps rests."""
    monkeypatch.setattr(solve, "MANY", many)
    source, sink, edges = snake(24, 9)
    cut = cut_in(count)(source, sink, edges)
    assert cut.value == 5
    assert_same(cut, tools.solve(source, sink, edges))


def test_flow_that_has_to_come_back(cut_in, tools):
    """The way down is wide but ends at a narrow exit; what does not fit returns and leaves at the top."""
    source, sink = np.zeros((2, 40, 6), np.int32)
    source[20] = 50
    sink[-1, 0] = 3
    sink[0] = 40
    edges = {(1, 0): 30, (0, 1): 30, (-1, 0): 9, (0, -1): 30}
    for count in (2, 4, 10):
        assert_same(cut_in(count)(source, sink, edges), tools.solve(source, sink, edges))


def test_excess_without_a_way_out_ends(cut_in, tools):
    """A tie at every border: all arcs are filled, and what is cut off is not sent to and fro."""
    source = np.full((30, 5), 3, np.int32)
    sink = np.zeros((30, 5), np.int32)
    sink[-1] = 1
    cut = cut_in(10)(source, sink, {(1, 0): 1, (0, 1): 1})
    assert_same(cut, tools.solve(source, sink, {(1, 0): 1, (0, 1): 1}))
    assert cut.stats["sweeps"] < 15


def test_residuals_are_those_of_a_preflow(cut_in, tools):
    rng = np.random.default_rng(5)
    for shape, offset in (((30, 20), (1, 0)), ((50,), (1,))):
        source, sink, _, _ = tools.random_problem(rng, shape, [], density=0.5)
        capacity = rng.integers(0, 9, shape, dtype=np.int32)
        cut = cut_in(5)(source, sink, {offset: capacity})
        there, back = cut.residual(offset), cut.residual(tools.opposite(offset))
        inner = capacity[:-1].astype(np.int64)
        assert there.shape == shape
        assert np.array_equal(there[:-1] + back[1:], 2 * inner)
        assert not (there[:-1] > 0)[cut.labels[:-1] & ~cut.labels[1:]].any()
    with pytest.raises(ValueError, match="offset \\(7,\\) has no edges"):
        cut.residual((7,))
    with pytest.raises(RuntimeError, match="whole grid in memory"):
        cut.flow((1,))


def test_a_grid_without_pixels():
    cut = gridcut.max_flow(np.zeros((0, 4), np.int32), 0, {(0, 1): 1}, method="blocks")
    assert (cut.value, cut.labels.shape) == (0, (0, 4))


# Arrays on disk


class Slices:
    """An array that can be read by slices of lines only, as zarr's and h5py's are; notes the longest."""

    def __init__(self, array):
        self._array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.longest = 0

    def __getitem__(self, index):
        assert isinstance(index, slice)
        found = self._array[index].copy()
        self.longest = max(self.longest, len(found))
        return found

    def __array__(self, *args, **keywords):
        raise AssertionError("read as a whole")


@pytest.fixture
def problem(tools):
    rng = np.random.default_rng(6)
    source, sink, edges, _ = tools.random_problem(rng, (60, 25), gridcut.neighbourhood(4), np.uint8, 90, 0.5)
    edges = {offset: rng.integers(0, 40, (60, 25), dtype=np.uint8) for offset in edges}
    return source, sink, edges


def test_arrays_by_slices_choose_blocks_by_themselves(problem, cut_in, tools, monkeypatch):
    source, sink, edges = problem
    monkeypatch.setattr("gridcut.blocks.sources.READ", 1000)
    cut_in(10)(source, sink, edges)  # for its strips
    stored = [Slices(a) for a in (source, sink, *edges.values())]
    labels = np.zeros(source.shape, bool)
    mask = Slices(np.ones(source.shape, bool))
    given = dict(zip(edges, stored[2:], strict=True))
    cut = gridcut.max_flow(stored[0], stored[1], given, mask=mask, labels=labels)
    assert cut.method == "blocks"
    cut.check()
    assert cut.labels is labels
    assert_same(cut, tools.solve(source, sink, edges))
    assert all(array.longest <= 20 for array in (*stored, mask)), "a block and its surroundings"


def test_zarr_arrays(problem, tools):
    zarr = pytest.importorskip("zarr")
    source, sink, edges = problem
    labels = zarr.zeros(source.shape, dtype=bool, chunks=(16, 16))
    given = {offset: zarr.array(array, chunks=(16, 16)) for offset, array in edges.items()}
    cut = gridcut.max_flow(zarr.array(source, chunks=(20, 25)), sink, given, labels=labels)
    cut.check()
    want = tools.solve(source, sink, edges)
    assert cut.value == want.value
    assert np.array_equal(labels[:], want.labels)


def test_mapped_arrays_that_do_not_fit_choose_blocks(problem, tools, tmp_path, monkeypatch):
    source, sink, edges = problem
    np.save(tmp_path / "source.npy", source)
    mapped = np.load(tmp_path / "source.npy", mmap_mode="r")
    assert gridcut.max_flow(mapped, sink, edges, device="cpu").method == "trees"
    monkeypatch.setattr("gridcut.methods.available_memory", lambda: 1000)
    cut = gridcut.max_flow(mapped, sink, edges)
    assert cut.method == "blocks"
    assert isinstance(cut.labels, np.memmap)
    assert_same(cut, tools.solve(source, sink, edges))


# Runs that are killed


def test_a_run_stopped_anywhere_goes_on(problem, cut_in, tools, tmp_path):
    source, sink, edges = problem
    want = tools.solve(source, sink, edges)
    events = []
    cut_in(8)(source, sink, edges, callback=lambda stats: events.append(stats["phase"]))
    assert {"load", "sweep", "labels"} <= set(events)
    for stop in range(1, len(events) + 1):
        folder = tmp_path / str(stop)

        def stopped(stats, left=[stop]):  # noqa: B006 - one list for each definition
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cut_in(8)(source, sink, edges, folder=folder, callback=stopped)
        cut = cut_in(8)(source, sink, edges, folder=folder)
        assert_same(cut, want)


def test_resuming_repeats_nothing_that_was_done(problem, cut_in, tmp_path):
    source, sink, edges = problem
    cut_in(8)(source, sink, edges, folder=tmp_path / "a")
    events = []
    cut = cut_in(8)(source, sink, edges, folder=tmp_path / "a", callback=events.append)
    assert not events
    assert cut.stats["discharges"] == cut_in(8)(source, sink, edges).stats["discharges"]


KILLED = """
import os, signal, sys
import numpy as np
import gridcut
from gridcut.blocks import plan, store
plan.strips = lambda lines, *_: [i * lines // 8 for i in range(9)]
source, sink, right, down = np.load(sys.argv[1])
left = [int(sys.argv[3])]
write = store.Store._write
def killed(self, path, *arrays):
    left[0] -= 1
    if left[0] == 0:                                  # in the middle of a file
        path.write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, path, *arrays)
store.Store._write = killed
cut = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): down}, folder=sys.argv[2])
cut.check()
print(cut.value)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_a_process_killed_while_it_writes_loses_nothing(problem, tools, tmp_path):
    source, sink, edges = problem
    np.save(tmp_path / "capacities.npy", np.stack([source, sink, *edges.values()]))
    want = tools.solve(source, sink, edges).value
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "capacities.npy"), str(tmp_path / "state")]
    ends = []
    for after in (5, 30, 60, 10**9):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run([*arguments, str(after)], capture_output=True, text=True, env=environment)
        ends.append(done.returncode)
    assert ends == [-signal.SIGKILL] * 3 + [0], done.stderr
    assert int(done.stdout) == want


def test_a_folder_of_something_else_is_refused(problem, cut_in, tmp_path):
    source, sink, edges = problem
    cut_in(4)(source, sink, edges, folder=tmp_path / "a")
    changed = sink.copy()
    changed[-1, -1] += 1
    with pytest.raises(ValueError, match="state of another problem"):
        gridcut.max_flow(source, changed, edges, folder=tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        gridcut.max_flow(source, sink, edges, folder=tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["notes.txt"]
    (tmp_path / "a" / store.MANIFEST).write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        gridcut.max_flow(source, sink, edges, folder=tmp_path / "a")


def test_a_folder_in_use_is_refused(problem, cut_in, tmp_path):
    pytest.importorskip("fcntl")
    source, sink, edges = problem
    refused = []

    def another(stats):
        with pytest.raises(RuntimeError, match="used by another run"):
            gridcut.max_flow(source, sink, edges, folder=tmp_path / "a")
        refused.append(stats["phase"])

    cut = cut_in(4)(source, sink, edges, folder=tmp_path / "a", callback=another)
    assert {"load", "labels"} <= set(refused)
    assert_same(gridcut.max_flow(source, sink, edges, folder=tmp_path / "a"), cut)


def test_a_folder_of_its_own_goes_with_the_cut(problem, cut_in):
    source, sink, edges = problem
    cut = cut_in(4)(source, sink, edges)
    folder, labels = cut.folder, cut.labels
    assert folder.exists()
    kept = np.array(labels)
    del cut
    assert not folder.exists()
    assert np.array_equal(labels, kept)


# The certificate


@pytest.fixture
def stored(problem, cut_in, tmp_path):
    source, sink, edges = problem
    return cut_in(6)(source, sink, edges, folder=tmp_path / "cut")


def changed_file(cut, kind, change):
    path = sorted(cut.folder.glob(f"*.{kind}"))[3]
    data = np.fromfile(path, np.int32 if kind == "state" else np.uint8)
    change(data)
    data.tofile(path)


def test_a_residual_that_was_changed_is_found(stored):
    changed_file(stored, "state", lambda data: data.__setitem__(-40, data[-40] + 1))
    with pytest.raises(CertificateError):
        stored.check()


def test_a_label_that_was_changed_is_found(problem, cut_in):
    source, sink, edges = problem
    labels = np.zeros(source.shape, bool)
    cut = cut_in(6)(source, sink, edges, labels=labels)
    labels[31, 7] ^= True
    with pytest.raises(CertificateError):
        cut.check()


def test_capacities_that_were_changed_are_found(stored, problem):
    problem[0][45, 3] += 1
    with pytest.raises(CertificateError, match=r"\(45, 3\)"):
        stored.check()


def test_claims_that_nothing_supports_are_found(cut_in, monkeypatch):
    """Cells that reach the sink over a border only, and claim to reach it at once: each could point at the other."""
    sink = np.zeros((24, 3), np.int32)
    sink[-1] = 5
    cut = cut_in(6)(0, sink, {(1, 0): 9})
    run = Relabeling.run
    lowered = []

    def run_and_lie(relabeling):
        run(relabeling)
        for claims in (*relabeling._before.values(), *relabeling._after.values()):
            lies = (claims > 0) & (claims < FAR)
            lowered.append(lies.sum())
            claims[lies] = 0

    monkeypatch.setattr(Relabeling, "run", run_and_lie)
    with pytest.raises(CertificateError, match="claims to be nearer"):
        cut.check()
    assert sum(lowered) > 0


def test_a_file_cut_short_is_reported(stored):
    path = sorted(stored.folder.glob("*.state"))[2]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="shorter than it was written"):
        stored.check()


# What may be asked for


BAD = [
    ({"memory": "4 XB"}, ValueError, "words such as '4 GB'"),
    ({"memory": -1}, ValueError, "positive"),
    ({"memory": float("nan")}, ValueError, "positive"),
    ({"memory": [4]}, TypeError, "words such as '4 GB'"),
    ({"memory": 2000}, ValueError, "too little"),
    ({"method": "blocks", "order": "fifo"}, TypeError, "takes memory, folder, labels; got 'order'"),
    ({"method": "blocks", "device": "cuda"}, RuntimeError, "does not run on device='cuda'"),
    ({"labels": 3}, TypeError, "an array to be written"),
    ({"labels": np.zeros(3, bool)}, ValueError, "bool of the grid's shape"),
    ({"method": "blocks", "mask": np.ones((60, 25))}, TypeError, "mask must be a bool array"),
    ({"method": "blocks", "mask": np.ones((6, 25), bool)}, ValueError, "mask must have the grid's shape"),
]


@pytest.mark.parametrize(("keywords", "error", "message"), BAD)
def test_bad_arguments_are_named(keywords, error, message, problem):
    source, sink, edges = problem
    with pytest.raises(error, match=message):
        gridcut.max_flow(source, sink, edges, **keywords)


def test_bad_capacities_are_named_by_their_place(cut_in):
    sink = np.zeros((50, 4))
    sink[41, 2] = np.nan
    with pytest.raises(ValueError, match=r"sink holds nan at \(41, 2\)"):
        cut_in(8)(np.zeros((50, 4)), sink, {(1, 0): 1})
    with pytest.raises(ValueError, match=r"sink holds -3 at \(70,\)"):
        cut_in(8)(0, np.where(np.arange(90) == 70, -3, 1), {(1,): 1})
    for bad in ({(1, 0): np.ones((3, 4))}, {(1, 0, 0): 1}, {(0, 0): 1}):
        with pytest.raises(ValueError, match="edges|offset"):
            cut_in(8)(np.zeros((50, 4)), 1, bad)
    with pytest.raises(TypeError, match="source must be an array of"):
        cut_in(8)(np.zeros((50, 4), complex), 1, {(1, 0): 1})


def test_solvers_and_batches_do_not_work_in_blocks():
    with pytest.raises(ValueError, match="max_flow alone"):
        gridcut.Solver(np.ones(4), np.ones(4), {(1,): 1}, method="blocks")


@pytest.mark.parametrize("words", ["2 GB", "2gb", "2000 MB", "2000000000", 2e9])
def test_memory_in_words_and_numbers(words):
    if words == "2000000000":
        with pytest.raises(ValueError, match="words such as"):
            plan.memory_bytes(words)
    else:
        assert plan.memory_bytes(words) == 2 * 10**9


def test_strips_keep_to_the_memory():
    for lines, reach, line_bytes in [(1000, 1, 10**6), (20000, 2, 2 * 10**6), (50, 0, 10**7), (7, 1, 10**8)]:
        for memory in (plan.BASE + 12 * line_bytes, plan.BASE + 100 * line_bytes, plan.BASE + 10**5 * line_bytes):
            bounds = plan.strips(lines, reach, line_bytes, memory)
            heights = np.diff(bounds)
            assert (bounds[0], bounds[-1]) == (0, lines)
            assert len(heights) == 1 or heights.min() >= max(1, 2 * reach)
            for shifted in (False, True):
                blocks = plan.partition(bounds, shifted)
                assert [end for _, end in blocks[:-1]] == [begin for begin, _ in blocks[1:]]
                assert (blocks[0][0], blocks[-1][1]) == (0, len(heights))
                tallest = max(bounds[end] - bounds[begin] for begin, end in blocks)
                ghosts = 2 * reach if len(blocks) > 1 else 0
                assert plan.BASE + (tallest + ghosts) * line_bytes <= memory


@pytest.mark.gpu
def test_arrays_on_a_gpu_are_refused(problem):
    cupy = pytest.importorskip("cupy")
    source, sink, edges = problem
    with pytest.raises(TypeError, match="lies on the GPU"):
        gridcut.max_flow(cupy.asarray(source), sink, edges, method="blocks")
    assert to_host(cupy.asarray(source)).shape == source.shape
