"""One grid on several GPUs: division into slabs, exchange across boundaries, whole solves, and invalid arguments.

In the simulator, and on a host with one GPU, the slabs share it.
"""

import numba
import numpy as np
import pytest

import gridcut
from gridcut.core.grid import make_layout
from gridcut.device import CertificateError
from gridcut.tiles.slabs.split import split
from tests.gridcut import oracles

sim = pytest.mark.sim


@pytest.fixture(autouse=True)
def fewer_pieces(monkeypatch):
    """Of a round in the simulator, where each takes seconds."""
    if numba.config.ENABLE_CUDASIM:
        from gridcut.tiles.slabs import slabs

        monkeypatch.setattr(slabs, "MAX_PIECES", 3)


# Division of a grid: no GPU


@pytest.mark.parametrize(
    ("shape", "count", "lines"),
    [
        ((100, 40), 3, [0, 32, 64, 100]),
        ((100, 40), 2, [0, 64, 100]),
        ((64, 5), 9, [0, 32, 64]),  # no more slabs than rows of tiles
        ((32, 200), 2, [0, 32]),
        ((17, 9, 40), 2, [0, 8, 17]),
        ((17, 9, 40), 5, [0, 4, 8, 12, 16, 17]),
        ((5000,), 2, [0, 5000]),
    ],
)
def test_slabs_are_whole_tiles(shape, count, lines):
    parts = split(shape, make_layout(shape, [(1,) + (0,) * (len(shape) - 1)]).offsets, count)
    assert [part.first for part in parts] + [parts[-1].last] == lines
    assert all(one.last == other.first for one, other in zip(parts, parts[1:], strict=False))
    assert sum(part.own.count for part in parts) * 1024 >= np.prod(shape)
    for part in parts:
        ghosts = part.ghosts_before, part.ghosts_after
        assert ghosts == (part.plane * (part.first > 0), part.plane * (part.last < shape[0]))
        assert part.ghosts_before + part.own.count + part.ghosts_after == part.tiles.count


# Invalid arguments: no GPU


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"devices": 2}, TypeError, r"devices must be a list of GPU indices, such as \[0, 1\], or \"all\"; got int"),
        ({"devices": [0, "1"]}, TypeError, r"devices must be a list of GPU indices, .*; got \[0, '1'\]"),
        ({"devices": []}, ValueError, "devices is empty; pass at least one GPU index, or omit devices"),
        ({"devices": [0, -1]}, ValueError, r"devices holds -1; GPU indices are 0, 1, ..."),
        ({"devices": [0], "device": "cpu"}, ValueError, "devices selects GPUs, but device is 'cpu'; use device='cuda'"),
        (
            {"devices": [0], "method": "lock_free"},
            ValueError,
            "devices requires method 'tiles', got method='lock_free'",
        ),
        (
            {"devices": [0, 0], "edges": {(0, 2): 1}},
            ValueError,
            "edges contains longer ones; shorten them, or omit devices",
        ),
        ({"devices": [0], "edges": {(0, 1, 0): 1}}, ValueError, "an offset must have 2 entries"),
    ],
)
def test_invalid_devices(options, error, message):
    one = np.ones((3, 4), int)
    with pytest.raises(error, match=message):
        gridcut.max_flow(one, one, **{"edges": {(0, 1): one}, **options})


@pytest.fixture
def some_gpu():
    """A GPU, or the simulator."""
    from gridcut.device import cuda_is_available

    if not cuda_is_available():
        pytest.skip("no GPU and no simulator")


@pytest.mark.parametrize("where", [pytest.param("sim", marks=sim), pytest.param("gpu", marks=pytest.mark.gpu)])
def test_invalid_arguments_with_a_gpu(where, some_gpu):
    from gridcut.device.cuda import cuda

    one = np.ones((3, 4), np.int32)
    edges = {(0, 1): 1}
    with pytest.raises(ValueError, match=r"devices holds 99, but the (only GPU is 0|GPUs are 0 to \d+)"):
        gridcut.max_flow(one, one, edges, devices=[0, 99])
    with pytest.raises(TypeError, match="they are on a GPU; copy them to the host, or omit devices"):
        gridcut.max_flow(cuda.to_device(one), cuda.to_device(one), edges, devices=[0, 0])
    with pytest.raises(TypeError, match="unexpected parameter 'order'; it accepts steps_per_pixel, discharge_ratio"):
        gridcut.max_flow(one, one, edges, devices=[0, 0], order="fifo")
    for name in ("steps_per_pixel", "discharge_ratio"):
        with pytest.raises(ValueError, match=f"{name} must be"):
            gridcut.max_flow(one, one, edges, devices=[0, 0], **{name: 0})
    source = np.ones((70, 5), np.int32)
    source[66, 3] = -1
    with pytest.raises(ValueError, match=r"source holds -1 at \(66, 3\); capacities must be 0 or more"):
        gridcut.max_flow(source, 1, edges, devices=[0, 0, 0])
    cut = gridcut.max_flow(one[:0], one[:0], edges, devices=[0, 0])
    assert (cut.value, cut.labels.shape) == (0, (0, 4))


# Whole solves


def snake(shape, first, last, rows=None):
    """Pixels of a path up and down between two lines, column by column; in volumes in one plane."""
    columns = range(0, shape[-1], 2)
    path = []
    for i, x in enumerate(columns):
        lines = list(range(first, last + 1))
        path += [(y, x) for y in (lines if i % 2 == 0 else lines[::-1])]
        if x + 2 < shape[-1]:
            path.append((path[-1][0], x + 1))
    return path if len(shape) == 2 else [(y, 1, x) for y, x in path]


def along(shape, path, offsets, capacity):
    """Directed edges along a path in both directions, and no others."""
    edges = {o: np.zeros(shape, np.int32) for f in offsets for o in (f, tuple(-i for i in f))}
    for p, q in zip(path, path[1:], strict=False):
        there = tuple(b - a for a, b in zip(p, q, strict=True))
        edges[there][p] = capacity
        edges[tuple(-i for i in there)][q] = capacity
    return edges


def check(problem, devices, mask=None, **options):
    """Solve on several devices; value, labels and certificate against the CPU."""
    source, sink, edges = problem
    cut = gridcut.max_flow(source, sink, edges, mask=mask, devices=devices, **options)
    cut.check()
    one = gridcut.max_flow(source, sink, edges, mask=mask, device="cpu")
    assert cut.value == pytest.approx(one.value, rel=1e-12 if np.asarray(source).dtype.kind == "f" else 0)
    assert (cut.labels == one.labels).all()
    planes = -(-np.shape(source)[0] // (None, np.shape(source)[0], 32, 4)[np.ndim(source)])
    assert devices == "all" or len(cut.stats["slabs"]) == min(len(devices), planes)
    return cut


def scattered(rng, shape, connectivity, share=0.04, dtype=np.int32):
    """Few pixels with excess and few with capacity to the sink, so that flow has far to travel."""
    source, sink = rng.integers(0, 80, (2, *shape)) * (rng.random((2, *shape)) < share)
    edges = {offset: rng.integers(0, 20, shape).astype(dtype) for offset in gridcut.neighbourhood(connectivity)}
    return source.astype(dtype), sink.astype(dtype), edges


@sim
@pytest.mark.parametrize(
    ("shape", "connectivity", "slabs", "dtype"),
    [
        ((40,), 2, 2, np.int32),
        ((36, 9), 4, 2, np.int32),
        pytest.param((65, 2), 8, 3, np.int32, marks=pytest.mark.slow),
        pytest.param((5, 2, 2), 26, 2, np.int64, marks=pytest.mark.slow),
    ],
)
def test_solve_in_the_simulator(shape, connectivity, slabs, dtype):
    rng = np.random.default_rng([201, *shape])
    mask = rng.random(shape) < 0.9 if connectivity == 4 else None
    check(scattered(rng, shape, connectivity, 0.1, dtype), [0] * slabs, mask)


@sim
def test_a_path_across_the_boundary_and_back():
    """All flow follows one path that crosses a boundary four times; its smallest capacity decides."""
    shape = (35, 7)
    path = snake(shape, 31, 33)

    source, sink = np.zeros((2, *shape), np.int32)
    source[path[0]], sink[path[-1]] = 9, 7
    edges = along(shape, path, gridcut.neighbourhood(4), 8)
    cut = check((source, sink, edges), [0, 0])
    assert cut.value == 7
    assert cut.stats["exchanges"] > 4  # the distances alone need that many


@sim
@pytest.mark.parametrize(
    ("part", "code", "error", "message"),
    [
        ("allocate", "OUT_OF_MEMORY", MemoryError, "GPU 0: the GPU has no memory for .*, or list more GPUs"),
        ("download", "ECC_UNCORRECTABLE", RuntimeError, "GPU 0 failed: .*; start a new process, and leave this GPU"),
    ],
)
def test_a_gpu_that_fails(part, code, error, message, monkeypatch):
    from gridcut.tiles.slabs import halo_exchange

    def fail(*args):
        raise RuntimeError(f"the GPU reports CUDA_ERROR_{code}")

    problem = scattered(np.random.default_rng(209), (34, 3), 4)
    with monkeypatch.context() as patch:
        patch.setattr(halo_exchange, part, fail)
        with pytest.raises(error, match=message):
            gridcut.max_flow(*problem, devices=[0, 0])
    assert check(problem, "all").stats["devices"] == [0]


@sim
def test_local_relabelings(monkeypatch):
    """Local relabelings whenever the time allows it, even with many active tiles; heights need not be distances."""
    from gridcut.tiles.slabs import slabs as solve

    monkeypatch.setattr(solve, "LOCAL_SHARE", 0)
    monkeypatch.setattr(solve, "LOCAL_RELABEL_RATIO", 5.0)
    path = snake((35, 7), 31, 33)
    source, sink = np.zeros((2, 35, 7), np.int32)
    source[path[0]], sink[path[-1]] = 9, 7
    source[0, 0] = 3
    edges = along((35, 7), path, gridcut.neighbourhood(4), 8)
    cut = check((source, sink, edges), [0, 0], steps_per_pixel=1, discharge_ratio=1e-9)
    assert cut.stats["global_relabels"] < cut.stats["rounds"]


@sim
def test_the_certificate_finds_changes():
    """Of labels and capacities, beyond the first slab."""
    sink = np.zeros((70, 3), np.int32)
    sink[-1] = 5
    edges = {(1, 0): np.full(sink.shape, 9, np.int32)}
    cut = gridcut.max_flow(np.zeros_like(sink), sink, edges, devices=[0, 0])
    cut.check()
    cut.labels[40, 1] = True
    with pytest.raises(CertificateError, match=r"\(40, 1\)"):
        cut.check()
    cut.labels[40, 1] = False
    edges[1, 0][45, 2] += 1
    with pytest.raises(CertificateError, match=r"\(45, 2\)"):
        cut.check()


# On GPUs: one that all slabs share, and two if available


DEVICES = [[0], [0] * 2, [0] * 3, [0] * 5, [0] * 8, [0, 1], [0, 1, 0], [1, 0, 0, 1, 1], [0, 1] * 4]


@pytest.fixture(params=[pytest.param(d, marks=pytest.mark.gpu, id="".join(map(str, d))) for d in DEVICES])
def devices(request):
    from gridcut.device.choose import gpu_count

    if max(request.param) >= gpu_count():
        pytest.skip("one GPU only")
    return request.param


@pytest.mark.parametrize(
    ("shape", "connectivity"),
    [((200, 300), 4), ((165, 70), 8), ((33, 2000), 4), ((40, 50, 60), 6), ((21, 33, 70), 26), ((500,), 2)],
)
def test_solve_on_gpus(devices, shape, connectivity):
    for seed in range(3):
        rng = np.random.default_rng([204, seed])
        problem = scattered(rng, shape, connectivity, [0.5, 0.05, 0.005][seed])
        cut = gridcut.max_flow(*problem, devices=devices)
        cut.check()
        one = gridcut.max_flow(*problem, device="cuda")
        oracles.assert_equal_cuts(cut, one)
        assert cut.stats["devices"] == devices[: len(cut.stats["devices"])]


def test_masks_floats_and_wide_integers_on_gpus(devices):
    rng = np.random.default_rng(205)
    shape = (150, 90)
    source, sink, edges = scattered(rng, shape, 4, 0.2)
    check((source, sink, edges), devices, rng.random(shape) < 0.8)
    unit = np.int64(2**40)
    check((source * unit, sink * unit, {o: e * unit for o, e in edges.items()}), devices)
    check((source / 7, sink / 7, {o: e / 7 for o, e in edges.items()}), devices, rng.random(shape) < 0.8)
    check((source.astype(np.uint8), 3, {(0, 1): np.uint16(20000), (1, 0): np.uint16(45000)}), devices)
