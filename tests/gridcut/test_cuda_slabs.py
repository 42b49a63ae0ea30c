"""One grid on several GPUs: division into slabs, exchange across boundaries, whole solves, and invalid arguments.

In the simulator, and on a host with one GPU, the slabs share it.
"""

import weakref

import numba
import numpy as np
import pytest

import gridcut
from gridcut.core.grid import make_layout
from gridcut.device import CertificateError
from gridcut.tiles.slabs.split import split
from tests.gridcut.tile_arrays import from_flat

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


@pytest.mark.parametrize(("shape", "connectivity"), [((70, 40), 4), ((70, 40), 8), ((9, 10, 40), 6), ((9, 10, 40), 26)])
def test_faces_meet(shape, connectivity):
    """Pixel j of a face is the same pixel of the grid on both sides, and arcs across lead to the right pixels."""
    layout = make_layout(shape, gridcut.neighbourhood(connectivity))
    numbers = np.arange(1, np.prod(shape) + 1, dtype=np.int32).reshape(shape)
    parts = split(shape, layout.offsets, 3)
    held = []
    for part in parts:
        flat = make_layout((part.stop - part.start, *shape[1:]), layout.offsets)
        excess, residual = np.zeros(flat.size, np.int32), np.zeros(flat.size * flat.arcs, np.int32)
        flat.interior(excess)[...] = numbers[part.start : part.stop]
        held.append(from_flat(part.tiles, excess, residual, flat)[0].reshape(-1, 1024))

    def face(i, tiles, position, boundary):
        tiles = held[i][tiles : tiles + parts[i].plane, position : position + boundary.pixels]
        return tiles.reshape(-1)

    for i in range(2):
        one, other = parts[i].faces()[-1], parts[i + 1].faces()[0]
        assert one.cells == other.cells
        assert [k ^ 1 for k, *_ in one.across] == [k for k, *_ in other.across]
        assert (face(i, one.own, one.own_offset, one) == face(i + 1, other.ghosts, other.ghost_offset, other)).all()
        assert (face(i, one.ghosts, one.ghost_offset, one) == face(i + 1, other.own, other.own_offset, other)).all()
        for which, boundary in ((i, one), (i + 1, other)):
            own, ghosts = (
                face(which, *args, boundary)
                for args in (
                    (boundary.own, boundary.own_offset),
                    (boundary.ghosts, boundary.ghost_offset),
                )
            )
            assert len(boundary.across) == {4: 1, 8: 3, 6: 1, 26: 9}[connectivity]
            position = {n: np.array(np.unravel_index(n - 1, shape)) for n in (*own[own > 0], *ghosts[ghosts > 0])}
            p = own[own > 0][3]
            for k, dy, dx in boundary.across:
                q = position[p] + layout.offsets[k]
                if (q >= 0).all() and (q < shape).all():
                    assert numbers[tuple(q)] in ghosts
                along = np.array(layout.offsets[k])[1:]
                assert tuple(along) == ((dx,) if len(shape) == 2 else (dy, dx))


# Invalid arguments: no GPU


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"devices": 2}, TypeError, r"devices must be a list of GPU indices, such as \[0, 1\], or \"all\"; got int"),
        ({"devices": "01"}, TypeError, "devices must be a list of GPU indices, .*; got '01'"),
        ({"devices": [0, "1"]}, TypeError, r"devices must be a list of GPU indices, .*; got \[0, '1'\]"),
        ({"devices": [0, 1.0]}, TypeError, "devices must be a list of GPU indices"),
        ({"devices": [True, 0]}, TypeError, "devices must be a list of GPU indices"),
        ({"devices": []}, ValueError, "devices is empty; pass at least one GPU index, or omit devices"),
        ({"devices": [0, -1]}, ValueError, r"devices holds -1; GPU indices are 0, 1, ..."),
        ({"devices": "all", "device": "cpu"}, ValueError, "devices selects GPUs, but device is 'cpu'"),
        ({"devices": [0], "device": "cpu"}, ValueError, "devices selects GPUs, but device is 'cpu'; use device='cuda'"),
        (
            {"devices": [0], "method": "lock_free"},
            ValueError,
            "devices requires method 'tiles', got method='lock_free'",
        ),
        ({"devices": [0], "device": "gpu"}, ValueError, "devices selects GPUs, but device is 'gpu'"),
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


def test_devices_without_a_gpu():
    from gridcut.device import cuda_is_available

    if cuda_is_available():
        pytest.skip("there is a GPU")
    one = np.ones((3, 4), int)
    with pytest.raises(RuntimeError, match="(finds no CUDA GPU|is not installed)"):
        gridcut.max_flow(one, one, {(0, 1): one}, devices=[0, 1])


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


def check(problem, tools, devices, mask=None, **options):
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
        ((65, 3), 8, 3, np.int32),
        ((34, 6), 4, 2, np.float32),
        ((6, 3, 6), 6, 2, np.int32),
        ((5, 3, 3), 26, 2, np.int64),
    ],
)
def test_solve_in_the_simulator(shape, connectivity, slabs, dtype, tools):
    rng = np.random.default_rng([201, *shape])
    mask = rng.random(shape) < 0.9 if connectivity == 4 else None
    check(scattered(rng, shape, connectivity, 0.1, dtype), tools, [0] * slabs, mask)


@sim
@pytest.mark.parametrize("reversed_path", [False, True])
def test_a_path_across_the_boundary_and_back(reversed_path, tools):
    """All flow follows one path that crosses a boundary six times; its smallest capacity decides."""
    shape = (35, 11)
    path = snake(shape, 31, 33)
    path = path[::-1] if reversed_path else path
    source, sink = np.zeros((2, *shape), np.int32)
    source[path[0]], sink[path[-1]] = 9, 7
    edges = along(shape, path, gridcut.neighbourhood(4), 8)
    cut = check((source, sink, edges), tools, [0, 0])
    assert cut.value == 7
    assert cut.stats["exchanges"] > 6  # the distances alone need that many


@sim
def test_both_slabs_push_across_one_edge(tools):
    """Excess on both sides of every boundary edge, each with its sink on the other side."""
    shape = (34, 6)
    source, sink = np.zeros((2, *shape), np.int32)
    source[31], source[32] = 5, 4
    sink[30, ::2], sink[33, 1::2] = 9, 9
    cut = check((source, sink, {(0, 1): 2, (1, 0): np.full(shape, 3, np.int32)}), tools, [0, 0])
    memory = weakref.ref(cut._solvers[0])
    del cut
    assert memory() is None, "GPU memory must be freed without the garbage collector"


@sim
@pytest.mark.parametrize(
    ("part", "code", "error", "message"),
    [
        ("allocate", "OUT_OF_MEMORY", MemoryError, "GPU 0: the GPU has no memory for .*, or list more GPUs"),
        ("download", "ECC_UNCORRECTABLE", RuntimeError, "GPU 0 failed: .*; start a new process, and leave this GPU"),
    ],
)
def test_a_gpu_that_fails(part, code, error, message, tools, monkeypatch):
    from gridcut.tiles.slabs import slab_solver

    def fail(*args):
        raise RuntimeError(f"the GPU reports CUDA_ERROR_{code}")

    problem = scattered(np.random.default_rng(209), (34, 3), 4)
    with monkeypatch.context() as patch:
        patch.setattr(slab_solver, part, fail)
        with pytest.raises(error, match=message):
            gridcut.max_flow(*problem, devices=[0, 0])
    assert check(problem, tools, "all").stats["devices"] == [0]


@sim
def test_solve_without_relabels_between_relabelings(tools, monkeypatch):
    from gridcut.tiles.slabs import slabs as solve

    monkeypatch.setattr(solve, "FALLBACK_ROUND", 0)
    check(scattered(np.random.default_rng(202), (34, 5), 4, 0.1), tools, [0, 0])


@sim
def test_local_relabelings(tools, monkeypatch):
    """Local relabelings whenever the time allows it, even with many active tiles; heights need not be distances."""
    from gridcut.tiles.slabs import slabs as solve

    monkeypatch.setattr(solve, "LOCAL_SHARE", 0)
    monkeypatch.setattr(solve, "LOCAL_RELABEL_RATIO", 5.0)
    path = snake((35, 7), 31, 33)
    source, sink = np.zeros((2, 35, 7), np.int32)
    source[path[0]], sink[path[-1]] = 9, 7
    source[0, 0] = 3
    edges = along((35, 7), path, gridcut.neighbourhood(4), 8)
    cut = check((source, sink, edges), tools, [0, 0], steps_per_pixel=1, discharge_ratio=1e-9)
    assert cut.stats["global_relabels"] < cut.stats["rounds"]


@sim
def test_the_certificate_by_strips_finds_changes(monkeypatch):
    """Of labels, capacities and claims; messages name the pixel in the whole grid."""
    from gridcut.tiles.slabs import slab_certificate

    monkeypatch.setattr(slab_certificate, "STRIP_RESIDUALS", 1)  # strips as thick as a tile
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
    edges[1, 0][45, 2] -= 1
    fetch = slab_certificate.fetch_lines

    def fetch_lies(solvers, first, last, height):
        fetch(solvers, first, last, height=height)
        height[height < slab_certificate.UNREACHABLE] = 0

    monkeypatch.setattr(slab_certificate, "fetch_lines", fetch_lies)
    with pytest.raises(CertificateError, match="claims a smaller distance"):
        cut.check()


@sim
def test_state_of_lines(tools):
    """`fetch_lines` returns the lines of the whole grid; ghost tiles hold zeros."""
    from gridcut.core.problem import check_problem
    from gridcut.device.peers import open_gpus
    from gridcut.tiles.slabs.fetch import fetch_lines
    from gridcut.tiles.slabs.slab_flow import solved_of
    from gridcut.tiles.slabs.slab_load import load_slabs
    from gridcut.tiles.slabs.slabs import solve
    from gridcut.tiles.tile_search import UNREACHABLE

    shape = (9, 3, 4)
    problem = check_problem(*scattered(np.random.default_rng(203), shape, 6, 0.1), None)
    flat = make_layout(shape, problem.edges)
    parts = split(shape, flat.offsets, 3)
    solvers, _ = solve(load_slabs(problem, parts, open_gpus([0, 0, 0])).slabs)
    labels = gridcut.max_flow(problem.source, problem.sink, problem.edges, device="cpu").labels
    solved = solved_of(problem, flat, solvers)
    for first, last in ((0, 9), (3, 5), (4, 8), (7, 9), (8, 9), (0, 1)):
        lines = (last - first, *shape[1:])
        excess, height, residual = np.empty(lines, np.int32), np.empty(lines, np.int32), np.empty((*lines, 6), np.int32)
        fetch_lines(solvers, first, last, excess, residual, height)
        assert (excess == flat.interior(solved.grid.excess)[first:last]).all()
        whole = flat.interior(solved.grid.residual.reshape(-1, flat.arcs))
        assert (residual == whole[first:last]).all()
        assert ((height == UNREACHABLE) == labels[first:last]).all()
    for solver in solvers:
        part, state = solver.slab.part, solver.slab.state
        excess = state.excess.copy_to_host().reshape(-1, 1024)
        residual = state.residual.copy_to_host().reshape(-1, part.tiles.arcs * 1024)
        for array in (excess, residual):
            assert not array[: part.ghosts_before].any()
            assert not array[part.tiles.count - part.ghosts_after :].any()


# On GPUs: one that all slabs share, and two if available


DEVICES = [[0], [0] * 2, [0] * 3, [0] * 5, [0] * 8, [0, 1], [0, 1, 0], [1, 0, 0, 1, 1], [0, 1] * 4]


@pytest.fixture(params=[pytest.param(d, marks=pytest.mark.gpu, id="".join(map(str, d))) for d in DEVICES])
def devices(request):
    from gridcut.device.peers import gpu_count

    if max(request.param) >= gpu_count():
        pytest.skip("one GPU only")
    return request.param


@pytest.mark.parametrize(
    ("shape", "connectivity"),
    [((200, 300), 4), ((165, 70), 8), ((33, 2000), 4), ((40, 50, 60), 6), ((21, 33, 70), 26), ((500,), 2)],
)
def test_solve_on_gpus(devices, shape, connectivity, tools):
    for seed in range(3):
        rng = np.random.default_rng([204, seed])
        problem = scattered(rng, shape, connectivity, [0.5, 0.05, 0.005][seed])
        cut = gridcut.max_flow(*problem, devices=devices)
        cut.check()
        one = gridcut.max_flow(*problem, device="cuda")
        tools.assert_equal_cuts(cut, one)
        assert cut.stats["devices"] == devices[: len(cut.stats["devices"])]


def test_masks_floats_and_wide_integers_on_gpus(devices, tools):
    rng = np.random.default_rng(205)
    shape = (150, 90)
    source, sink, edges = scattered(rng, shape, 4, 0.2)
    check((source, sink, edges), tools, devices, rng.random(shape) < 0.8)
    unit = np.int64(2**40)
    check((source * unit, sink * unit, {o: e * unit for o, e in edges.items()}), tools, devices)
    check((source / 7, sink / 7, {o: e / 7 for o, e in edges.items()}), tools, devices, rng.random(shape) < 0.8)
    check((source.astype(np.uint8), 3, {(0, 1): np.uint16(20000), (1, 0): np.uint16(45000)}), tools, devices)


def test_paths_across_the_boundaries_on_gpus(devices, tools):
    """Paths that cross every boundary repeatedly, from one end of the grid to the other."""
    for shape, lines in (((70, 61), (20, 66)), ((9, 3, 41), (1, 8))):
        path = snake(shape, *lines)
        for ends in (path, path[::-1]):
            source, sink = np.zeros((2, *shape), np.int32)
            source[ends[0]], sink[ends[-1]] = 9, 7
            edges = along(shape, ends, gridcut.neighbourhood(4 if len(shape) == 2 else 6), 8)
            assert check((source, sink, edges), tools, devices).value == 7


def test_a_random_tree_across_the_boundaries_on_gpus(devices, tools):
    """One path between any two pixels: flow crosses wherever the tree does."""
    rng = np.random.default_rng(206)
    shape = (130, 40)
    edges = {o: np.zeros(shape, np.int32) for o in gridcut.neighbourhood(4)}
    seen, front = {(0, 0)}, [(0, 0)]
    while front:
        i = len(front) - 1 if rng.random() < 0.7 else int(rng.integers(len(front)))
        y, x = front[i]
        free = [(y + a, x + b) for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)) if (y + a, x + b) not in seen]
        free = [(a, b) for a, b in free if 0 <= a < shape[0] and 0 <= b < shape[1]]
        if not free:
            front.pop(i)
            continue
        to = free[int(rng.integers(len(free)))]
        seen.add(to)
        front.append(to)
        edges[abs(to[0] - y), abs(to[1] - x)][min(to[0], y), min(to[1], x)] = rng.integers(3, 50)
    source, sink = rng.integers(0, 90, (2, *shape)) * (rng.random((2, *shape)) < 0.02)
    check((source.astype(np.int32), sink.astype(np.int32), edges), tools, devices)


def test_files_and_views_on_gpus(devices, tmp_path, tools):
    """Slabs are read from files, and from arrays of any strides."""
    rng = np.random.default_rng(207)
    source, sink, edges = scattered(rng, (140, 80), 4, 0.2)
    for name, array in (("source", source), ("sink", sink)):
        np.save(tmp_path / f"{name}.npy", array)
    files = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("source", "sink")]
    first = check((*files, edges), tools, devices)
    flipped = check(
        (source[::-1, ::-1], sink[::-1, ::-1], {o: e[::-1, ::-1] for o, e in edges.items()}), tools, devices
    )
    assert first.value == gridcut.max_flow(source, sink, edges, device="cpu").value
    assert flipped.value > 0


def test_a_large_image_on_gpus(devices, tools):
    """With local relabelings, and flows of a completed maximum flow."""
    rng = np.random.default_rng(208)
    shape = (1500, 1000)
    source = rng.integers(0, 60, shape, np.int32) * (rng.random(shape) < 0.01)
    sink = rng.integers(0, 60, shape, np.int32) * (rng.random(shape) < 0.01)
    edges = {(0, 1): rng.integers(0, 20, shape, np.int32), (1, 0): rng.integers(0, 20, shape, np.int32)}
    seen = []
    cut = gridcut.max_flow(source, sink, edges, devices=devices, callback=seen.append)
    cut.check()
    one = gridcut.max_flow(source, sink, edges, device="cuda")
    tools.assert_equal_cuts(cut, one)
    assert len(seen) == cut.stats["rounds"]
    assert cut.flow((0, 1)).shape == shape
