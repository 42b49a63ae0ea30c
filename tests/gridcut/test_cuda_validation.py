"""The code around the solvers on a GPU: layouts, loading, labels and values, changes, arrays of other libraries.

In the simulator the CPU solves instead, after the tiles have been converted to its layout.
"""

import numpy as np
import pytest

import gridcut
from gridcut.core.grid import make_layout
from gridcut.core.load import largest_capacities
from gridcut.core.load import load as load_on_host
from gridcut.core.problem import check_problem
from gridcut.cuda.tile_layout import make_tile_layout, to_flat
from tests.gridcut import oracles
from tests.gridcut.tile_arrays import from_flat

OFFSETS = {
    1: [(1,), (-1,)],
    2: [(0, 1), (1, 0), (1, -1), (0, -1)],
    3: [(0, 0, 1), (0, 1, 0), (1, 0, 0), (-1, 1, 1)],
}


# Layouts: no GPU


@pytest.mark.parametrize("shape", [(1,), (70,), (32, 64), (33, 65), (1, 5), (4, 8, 32), (5, 9, 33), (1, 1, 1)])
def test_tiles_and_back(shape):
    rng = np.random.default_rng(81)
    layout = make_layout(shape, OFFSETS[len(shape)])
    tiled = make_tile_layout(1, shape, layout.offsets)
    excess = np.zeros(layout.size, np.int32)
    residual = np.zeros(layout.size * layout.arcs, np.int32)
    layout.interior(excess)[...] = rng.integers(1, 100, shape)
    layout.interior(residual.reshape(-1, layout.arcs))[...] = rng.integers(1, 100, (*shape, layout.arcs))
    e, r = from_flat(tiled, excess, residual, layout, np.uint16)
    assert e.shape == (tiled.cells,)
    assert r.shape == (tiled.cells * layout.arcs,)
    assert r.dtype == np.uint16
    assert e.sum() == excess.sum()  # nothing outside the grid
    for found, expected in zip(to_flat(tiled, e, r, layout), (excess, residual), strict=True):
        assert found.dtype == np.int32
        assert (found == expected).all()


# Loading, in the simulator

sim = pytest.mark.sim


def strided(array, rng):
    """The same values with other strides, in little more memory."""
    choice = rng.integers(4)
    if choice == 0:
        return np.asfortranarray(array)
    if choice == 1:
        return array[..., ::-1].copy()[..., ::-1]
    if choice == 2:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@sim
@pytest.mark.parametrize(("tiled", "there"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((40,), np.int64),
        ((5, 34), np.uint8),
        ((3, 33), np.int32),
        ((4, 7), np.float32),
        ((2, 3, 5), np.uint16),
        ((2, 2, 33), np.float64),
    ],
)
def test_loading_equals_the_cpu(shape, dtype, there, tiled):
    from gridcut.cuda.device_load import CapacityArrays, choose_number_types, make_state_layout
    from gridcut.device.cuda import cuda

    rng = np.random.default_rng(82)
    for masked in (False, True):
        high = [9, 200, 70000][rng.integers(3)]
        info = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max

        def capacity(high=high, info=info):
            values = rng.integers(0, min(high, info), shape)
            return strided((values + (0.25 if np.dtype(dtype).kind == "f" else 0)).astype(dtype), rng)

        mask = strided(rng.random(shape) < 0.7, rng) if masked else None
        edges = {offset: capacity() for offset in OFFSETS[len(shape)]}
        edges[OFFSETS[len(shape)][0]] = 5
        arguments = [capacity(), capacity(), edges, mask]
        problem = check_problem(*arguments)
        grid, views = load_on_host(problem)
        if there:
            arrays = [None if a is None else window_on_device(a, cuda) for a in (*arguments[:2], mask)]
            edges = {o: c if np.ndim(c) == 0 else window_on_device(c, cuda) for o, c in edges.items()}
            problem = check_problem(*arrays[:2], edges, arrays[2])
            assert problem.library is not None
        capacities = CapacityArrays(problem, make_state_layout(problem, tiled))
        bounds = capacities.bounds()
        assert bounds == largest_capacities(problem.on_host(), views.layout)
        number_types = choose_number_types(problem, bounds, tiled)
        state = capacities.fill(number_types)
        assert number_types.unit == grid.unit
        assert number_types.excess == grid.excess.dtype
        arcs = bounds[2:]
        if tiled and number_types.excess == np.int32:
            narrow = all(a + b <= 65535 for a, b in zip(arcs[::2], arcs[1::2], strict=True))
            assert number_types.residual == (np.uint16 if narrow else np.int32)
        excess, residual = state.excess.copy_to_host(), state.residual.copy_to_host()
        if tiled:
            excess, residual = to_flat(state.layout.tiles, excess, residual, state.layout.flat)
        assert (excess == grid.excess).all()
        assert (residual == grid.residual).all()
        low, high = state.to_sink.copy_to_host()
        used = True if mask is None else mask
        units = np.floor(arguments[1] / grid.unit).astype(np.int64) if problem.is_float else arguments[1]
        assert int(low) + (int(high) << 32) == int(np.where(used, units, 0).sum(dtype=object))


def window_on_device(array, cuda):
    """A copy in the simulator's memory with the strides of the original."""
    memory = array.copy(order="K") if all(s > 0 for s in array.strides) else array
    return type(cuda.to_device(np.zeros(1)))(memory)


@sim
@pytest.mark.parametrize("value", [-1.0, np.nan, -np.inf])
def test_invalid_capacities_are_reported(value, stand_in):
    source = np.ones((3, 4))
    source[1, 2] = value
    with pytest.raises(ValueError, match=r"source holds .* at \(1, 2\); capacities must be"):
        gridcut.max_flow(source, 1, {(0, 1): 1}, device="cuda")
    mask = np.ones((3, 4), bool)
    mask[1, 2] = False
    gridcut.max_flow(source, 1, {(0, 1): 1}, mask=mask, device="cuda").check()


# Whole solves, in the simulator


@sim
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_solves_equal_the_cpu(dtype, stand_in):
    from gridcut.device.cuda import cuda

    rng = np.random.default_rng(84)
    source, sink, edges, mask = oracles.random_problem(rng, (5, 35), OFFSETS[2], dtype, high=30, mask="random")
    expected = oracles.solve(source, sink, edges, mask=mask, device="cpu")
    cut = oracles.solve(source, sink, edges, mask=mask, device="cuda")
    assert cut.value == expected.value
    assert isinstance(cut.labels, np.ndarray)
    assert (cut.labels == expected.labels).all()
    assert list(cut.stats["seconds"]) == ["upload", "load", "solve", "value", "download"]
    oracles.check_flow(cut, source, sink, edges, mask)
    there = {offset: c if np.ndim(c) == 0 else cuda.to_device(c) for offset, c in edges.items()}
    cut = oracles.solve(cuda.to_device(source), cuda.to_device(sink), there, mask=cuda.to_device(mask), device="auto")
    assert (cut.device, cut.value) == ("cuda", expected.value)
    assert (cut.labels.copy_to_host() == expected.labels).all()
    assert (cut.residual((0, 1)).copy_to_host() >= 0).all()


@sim
def test_batches(stand_in):
    from gridcut.device.cuda import cuda

    rng = np.random.default_rng(85)
    source, sink = rng.integers(0, 30, (2, 3, 4, 5))
    sink = sink[1]
    mask = rng.random((3, 4, 5)) < 0.8
    edges = {(0, 1): rng.integers(0, 9, (3, 4, 5)), (1, 0): 3}
    batch = gridcut.max_flow_batch(source, sink, edges, mask=mask, device="cuda")
    assert batch.method == "tiles"
    batch.check()
    for i, cut in enumerate(gridcut.max_flow_batch(source, sink, edges, mask=mask, device="cpu")):
        assert cut.value == batch.values[i]
        assert (cut.labels == batch.labels[i]).all()
    there = {(0, 1): cuda.to_device(edges[(0, 1)]), (1, 0): 3}
    on_gpu = gridcut.max_flow_batch(cuda.to_device(source), cuda.to_device(sink), there, mask=cuda.to_device(mask))
    on_gpu.check()
    assert (on_gpu.values == batch.values).all()
    assert (on_gpu.labels.copy_to_host() == batch.labels).all()
    source[2, 1, 1] = -5
    mask[2] = True
    with pytest.raises(ValueError, match=r"item 2: source holds -5 at \(1, 1\)"):
        gridcut.max_flow_batch(source, sink, edges, mask=mask, device="cuda")


@sim
@pytest.mark.parametrize("after", [0, 4])
def test_out_of_memory_is_reported(stand_in, monkeypatch, after):
    """The first allocation fails, or the first one of the solver."""
    from gridcut.device.cuda import cuda

    left = [after]
    make = cuda.device_array

    def device_array(*args, **keywords):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return make(*args, **keywords)

    def to_device(array):
        return device_array(array.shape, array.dtype)

    monkeypatch.setattr(cuda, "device_array", device_array)
    monkeypatch.setattr(cuda, "to_device", to_device)
    with pytest.raises(MemoryError, match=r"the GPU has no memory for .*, \d+ bytes are free; solve smaller pieces"):
        gridcut.max_flow(np.ones((3, 4), int), 1, {(0, 1): 1}, device="cuda")


@sim
def test_mixed_devices_are_rejected(stand_in):
    from gridcut.device.cuda import cuda

    array = np.ones((3, 4), int)
    there = cuda.to_device(array)
    with pytest.raises(TypeError, match=r"source is on the GPU and edges\[\(0, 1\)\] on the host"):
        gridcut.max_flow(there, 1, {(0, 1): array})
    with pytest.raises(TypeError, match=r"the capacities are on the GPU, but device='cpu' was requested"):
        gridcut.max_flow(there, 1, {(0, 1): 1}, device="cpu")
    with pytest.raises(TypeError, match=r"method 'ibfs' runs on the CPU"):
        gridcut.max_flow(there, 1, {(0, 1): 1}, method="ibfs")
    with pytest.raises(TypeError, match=r"sink is on the GPU, but this solver is on the CPU"):
        gridcut.Solver(array, 1, {(0, 1): 1}, device="cpu").update(sink=there)
    with pytest.raises(TypeError, match=r"source must be an array of uint8, .* got dtype complex128"):
        gridcut.max_flow(cuda.to_device(np.ones((3, 4), complex)), 1, {(0, 1): 1})
    with pytest.raises(ValueError, match="'tiles' accepts arcs to direct neighbours only"):
        gridcut.max_flow(there, 1, {(0, 2): 1}, method="tiles")
    assert gridcut.max_flow(cuda.to_device(array.astype(np.int16)), 1, {(0, 1): 1}).value == 12
    assert gridcut.max_flow(cuda.to_device(np.ones((0, 4), int)), 1, {(0, 1): 1}).labels.shape == (0, 4)


# On a GPU, with arrays of other libraries


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_arrays_of_other_libraries(name):
    to, back, kind = oracles.library(name)
    rng = np.random.default_rng(87)
    source, sink, edges, mask = oracles.random_problem(rng, (67, 45), OFFSETS[2], np.int32, high=30, mask="random")
    expected = oracles.solve(source, sink, edges, mask=mask, device="cpu")
    there = {offset: c if np.ndim(c) == 0 else to(c) for offset, c in edges.items()}
    cut = oracles.solve(to(source.T).T, to(sink), there, mask=to(mask), device="auto")
    assert cut.device == "cuda"
    assert isinstance(cut.labels, kind)
    assert (back(cut.labels) == expected.labels).all()
    assert cut.value == expected.value
    assert isinstance(cut.flow((0, 1)), kind)
    assert (back(cut.residual((1, 0))) >= 0).all()
    solver = gridcut.Solver(to(source), to(sink), there, mask=to(mask))
    solver.solve()
    solver.update(source=to(source[::-1].copy()), edges={(0, 1): 7})
    cut = solver.solve()
    cut.check()
    assert cut.value == oracles.solve(source[::-1], sink, {**edges, (0, 1): 7}, mask=mask, device="cpu").value
    batch = gridcut.max_flow_batch(to(np.stack([source, sink])), to(sink), there, mask=to(mask))
    batch.check()
    assert isinstance(batch.labels, kind)
    with pytest.raises(TypeError, match="is on the GPU and sink on the host"):
        gridcut.max_flow(to(source), sink, edges)
