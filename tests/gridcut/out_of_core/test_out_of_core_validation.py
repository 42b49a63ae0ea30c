"""Validation of the arguments of the out-of-core method: each mistake has its error, and the memory limit is kept."""

import re

import numpy as np
import pytest

import gridcut
from gridcut.device.arrays import to_host
from gridcut.out_of_core import plan

BAD = [
    ({"memory": "4 XB"}, ValueError, "string such as '4 GB'"),
    ({"memory": -1}, ValueError, "positive"),
    ({"memory": float("nan")}, ValueError, "positive"),
    ({"memory": [4]}, TypeError, "string such as '4 GB'"),
    ({"memory": 2000}, ValueError, "too little"),
    ({"method": "out_of_core", "order": "fifo"}, TypeError, "parameter 'order'; it accepts memory, folder, labels"),
    ({"method": "out_of_core", "device": "cuda"}, RuntimeError, "does not run on device='cuda'"),
    ({"labels": 3}, TypeError, "a writable array"),
    ({"labels": np.zeros(3, bool)}, ValueError, "bool of the grid's shape"),
    ({"method": "out_of_core", "mask": np.ones((60, 25))}, TypeError, "mask must be a bool array"),
    ({"method": "out_of_core", "mask": np.ones((6, 25), bool)}, ValueError, "mask must have the grid's shape"),
]


@pytest.mark.parametrize(("keywords", "error", "message"), BAD)
def test_bad_arguments_are_reported(keywords, error, message, problem):
    source, sink, edges = problem
    with pytest.raises(error, match=message):
        gridcut.max_flow(source, sink, edges, **keywords)


def test_bad_capacities_are_reported_with_their_index(cut_in):
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


def test_solver_rejects_out_of_core():
    with pytest.raises(ValueError, match="available in max_flow only"):
        gridcut.Solver(np.ones(4), np.ones(4), {(1,): 1}, method="out_of_core")


@pytest.mark.parametrize("words", ["2 GB", "2gb", "2000 MB", "2000000000", 2e9])
def test_memory_as_string_and_number(words):
    if words == "2000000000":
        with pytest.raises(ValueError, match="string such as"):
            plan.memory_bytes(words)
    else:
        assert plan.memory_bytes(words) == 2 * 10**9


def test_strips_fit_into_the_memory():
    for lines, halo_width, line_bytes in [(1000, 1, 10**6), (20000, 2, 2 * 10**6), (50, 0, 10**7), (7, 1, 10**8)]:
        for memory in (
            plan.BASE_BYTES + 12 * line_bytes,
            plan.BASE_BYTES + 100 * line_bytes,
            plan.BASE_BYTES + 10**5 * line_bytes,
        ):
            bounds = plan.strips(lines, halo_width, line_bytes, memory)
            heights = np.diff(bounds)
            assert (bounds[0], bounds[-1]) == (0, lines)
            assert len(heights) == 1 or heights.min() >= max(1, 2 * halo_width)
            for shifted in (False, True):
                blocks = plan.partition(bounds, shifted)
                assert [end for _, end in blocks[:-1]] == [begin for begin, _ in blocks[1:]]
                assert (blocks[0][0], blocks[-1][1]) == (0, len(heights))
                tallest = max(bounds[end] - bounds[begin] for begin, end in blocks)
                ghosts = 2 * halo_width if len(blocks) > 1 else 0
                assert plan.BASE_BYTES + (tallest + ghosts) * line_bytes <= memory


@pytest.mark.parametrize("free", [10 * 2**20, 700 * 2**20, 64 * 2**30])
def test_the_default_works_with_little_free_memory(free, problem, tools, monkeypatch):
    monkeypatch.setattr(plan, "available_memory", lambda: free)
    assert plan.memory_bytes(None) == plan.BASE_BYTES + free // 2
    cut = gridcut.max_flow(*problem, method="out_of_core")
    cut.check()
    assert cut.value == tools.oracle(*problem)


@pytest.mark.parametrize("words", ["1 MB", "100 MB", "400 MiB"])
def test_limits_below_the_reserve_name_it_and_what_suffices(words, problem):
    with pytest.raises(ValueError, match="419430400 bytes are reserved for the interpreter and libraries") as error:
        gridcut.max_flow(*problem, memory=words)
    assert "transpose" not in str(error.value)
    enough = int(re.search(r"pass memory=(\d+) or more", str(error.value))[1])
    gridcut.max_flow(*problem, memory=enough).check()
    with pytest.raises(ValueError, match="too little"):
        gridcut.max_flow(*problem, memory=enough - 1)


def test_transposing_is_advised_only_where_it_helps():
    source = np.ones((20, 3000), np.int32)
    limit = plan.BASE_BYTES + 10**6
    with pytest.raises(ValueError, match=r"pass memory=\d+ or more, or transpose the arrays so that the longest axis"):
        gridcut.max_flow(source, 1, {(1, 0): 1}, memory=limit)
    gridcut.max_flow(source.T, 1, {(0, 1): 1}, memory=limit).check()


UNLIMITED = 9223372036854771712  # of version 1


@pytest.mark.parametrize(
    ("entries", "files", "free"),
    [
        (["0::/"], {"": ("max", 5, 0)}, 16000),
        (["0::/"], {"": (1000, 700, 100)}, 400),
        (["0::/a/b"], {"a/b": ("max", 5, 0), "a": (5000, 4000, 0), "": (9000, 4000, 0)}, 1000),
        (["0::/a"], {"a": (1000, 1200, 50)}, 0),
        (["0::/../elsewhere"], {"": (3000, 1000, 0)}, 2000),
        (["0::/missing"], {}, 16000),
        (["5:cpu,memory:/a"], {"memory/a": (2000, 1500, 0), "memory": (UNLIMITED, 9000, 0)}, 500),
        (["4:cpu:/a", "5:memory:/docker/a", "0::/"], {"memory": (2500, 500, 0)}, 2000),
        (["5:memory:/a"], {"memory/a": (UNLIMITED, 1500, 0)}, 16000),
    ],
)
def test_limits_of_containers(entries, files, free, tmp_path, monkeypatch):
    """Entries of /proc/self/cgroup; by group: limit, usage, and cache that can be reclaimed."""
    groups, proc = tmp_path / "cgroup", tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable:   {16000 // 1024 + 1} kB\n")
    (proc / "self" / "cgroup").write_text("\n".join(entries) + "\n")
    for name, values in files.items():
        one = "memory" in name
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if one else ("memory.max", "memory.current")
        (groups / name).mkdir(parents=True, exist_ok=True)
        for file, value in zip(names, values, strict=False):
            (groups / name / file).write_text(f"{value}\n")
        cache = "total_inactive_file" if one else "inactive_file"
        (groups / name / "memory.stat").write_text(f"anon 12\n{cache} {values[2]}\n")
    monkeypatch.setattr(plan, "PROC", proc)
    monkeypatch.setattr(plan, "CGROUPS", groups)
    assert plan.available_memory() == (16384 if free == 16000 else free)


@pytest.mark.gpu
def test_arrays_on_a_gpu_are_rejected(problem):
    cupy = pytest.importorskip("cupy")
    source, sink, edges = problem
    with pytest.raises(TypeError, match="is on the GPU"):
        gridcut.max_flow(cupy.asarray(source), sink, edges, method="out_of_core")
    assert to_host(cupy.asarray(source)).shape == source.shape
