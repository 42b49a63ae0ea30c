"""Which kinds of arrays are read into memory and which by slices; no argument is ever written to."""

import numpy as np
import pytest

import gridcut
from gridcut.core.problem import is_stored
from tests.tiers import in_quick_tier

SHAPE = (6, 7)


class InMemory:
    """An array-like that numpy can convert as a whole, such as those of xarray, dask and JAX."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        raise AssertionError("read by slices")

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)


class OnDisk:
    """An array that can only be read by slices."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        return self.array[key]


class Dataset(InMemory):
    """Like an array of h5py, which numpy could convert as a whole."""

    __module__ = "h5py._hl.dataset"

    def __getitem__(self, key):
        return self.array[key]


def problem(rng, kind=np.int64):
    source, sink, right = rng.integers(0, 9, (3, *SHAPE)).astype(kind)
    return source, sink, {(0, 1): right, (1, 0): 3}


def test_arrays_in_memory_are_not_stored_arrays():
    source, sink, edges = problem(np.random.default_rng(61))
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    cut = gridcut.max_flow(InMemory(source), InMemory(sink), {(0, 1): InMemory(edges[0, 1]), (1, 0): 3}, device="cpu")
    assert cut.method == expected.method == "ibfs"
    assert cut.value == expected.value
    assert (cut.flow((0, 1)) <= edges[0, 1]).all()
    assert not is_stored(InMemory(source))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    cut = gridcut.max_flow(pandas.Series([9, 4, 0]), pandas.Series([0, 3, 9]), {(1,): pandas.Series([2, 2, 2])})
    assert cut.method != "out_of_core"
    assert cut.value == 5
    assert cut.labels.tolist() == [True, True, False]
    assert cut.flow((1,))[1] == 2
    table = pandas.DataFrame(np.arange(12).reshape(3, 4), index=["a", "b", "c"])
    assert (
        gridcut.max_flow(table, 3, {(0, 1): table}).value
        == gridcut.max_flow(table.to_numpy(), 3, {(0, 1): table}).value
    )


def test_arrays_on_disk_are_read_by_slices():
    source, sink, edges = problem(np.random.default_rng(62))
    expected = gridcut.max_flow(source, sink, edges, device="cpu")
    for kind in (OnDisk, Dataset):
        assert is_stored(kind(source))
        cut = gridcut.max_flow(kind(source), kind(sink), edges)
        assert cut.method == "out_of_core"
        assert cut.value == expected.value
    zarr = pytest.importorskip("zarr")
    assert is_stored(zarr.array(source))


# Arguments are never written to


def layouts(array):
    """Yield the same values contiguous, strided, reversed, in Fortran order and big-endian; all read-only."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    for made in (
        array.copy(),
        wide[..., ::2],
        array[..., ::-1].copy()[..., ::-1],
        np.asfortranarray(array),
        array.astype(array.dtype.newbyteorder(">")),
    ):
        made.setflags(write=False)
        yield made


def frozen(value, choice):
    """An argument with its arrays in one of these layouts."""
    if isinstance(value, np.ndarray):
        return list(layouts(value))[choice]
    if isinstance(value, dict):
        return {key: frozen(array, choice) for key, array in value.items()}
    return value


def arrays_of(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for array in value.values():
            yield from arrays_of(array)


def calls(rng, kind):
    """Yield every public function with the arguments that it reads."""
    source, sink, edges = problem(rng, kind)
    mask = rng.random(SHAPE) < 0.8
    unary = rng.integers(0, 9, (3, *SHAPE)).astype(kind)
    weights = {(0, 1): rng.integers(0, 4, SHAPE).astype(kind), (1, 0): 2}
    cost = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(kind)
    start = rng.integers(0, 3, SHAPE)
    tables = {(0, 1): np.moveaxis(rng.integers(0, 4, (*SHAPE, 2, 2)), (-2, -1), (0, 1)).astype(kind)}
    tables[0, 1][0, 0] = tables[0, 1][1, 1] = 0
    image = rng.integers(0, 255, (*SHAPE, 3)).astype(kind)

    def on_cpu(**parameters):
        def call(source, sink, edges, mask):
            cut = gridcut.max_flow(source, sink, edges, mask=mask, device="cpu", **parameters)
            cut.check()
            if cut.method != "out_of_core":
                cut.flow((0, 1))
            cut.residual((0, 1))

        return call

    def solver(source, sink, edges, mask, unary):
        solver = gridcut.Solver(source, sink, edges, mask=mask, device="cpu")
        solver.solve().check()
        solver.update(source=sink, sink=source, edges={(0, 1): unary[0]})
        solver.solve().check()
        solver.update(source=source[mask], where=mask)
        solver.solve().check()

    def label_solver(unary, weights, start):
        solver = gridcut.LabelSolver(unary, weights, start=start)
        solver.solve()
        solver.update(unary=unary[::-1], weights=weights)
        solver.solve().check()

    def binary(unary, tables):
        energy = gridcut.BinaryEnergy(unary[:2], tables)
        result = gridcut.binary_minimum(energy)
        result.check()
        gridcut.binary_labels(energy)
        gridcut.roof_duality(energy).check()
        energy.value(result.labels)

    grid = (source, sink, edges, mask)
    for parameters in (
        {},
        {"method": "push_relabel"},
        {"method": "lock_free", "threads": 2},
        {"method": "async_global", "threads": 2},
        {"method": "out_of_core"},
    ):
        yield on_cpu(**parameters), grid
    yield solver, (*grid, unary)
    yield lambda *a: gridcut.max_flow_batch(*a, {(0, 1): 1}, device="cpu").check(), (unary, source)
    yield (
        lambda u, w, c, s: gridcut.alpha_expansion(u, w, c, start=s, device="cpu").check(),
        (unary, weights, cost, start),
    )
    yield lambda u, w, c, s: gridcut.alpha_beta_swap(u, w, c, start=s).check(), (unary, weights, cost, start)
    yield lambda u, w, c: gridcut.convex_labels(u, w, c, device="cpu").check(), (unary, weights, cost)
    yield label_solver, (unary, weights, start)
    yield lambda u, w, c, s: gridcut.energy_of(s, u, w, c), (unary, weights, cost, start)
    yield binary, (unary, tables)
    yield lambda i: gridcut.contrast_edges(i, spacing=np.array([1.0, 2.0])), (image,)


@pytest.mark.parametrize("kind", in_quick_tier([np.int32, np.int64, np.float64], (np.int64,).__contains__))
@pytest.mark.parametrize("choice", range(5), ids=["contiguous", "strided", "reversed", "fortran", "big-endian"])
def test_no_public_function_writes_to_an_argument(kind, choice):
    """Read-only arrays make numpy raise on writes; kernels would not raise, so values are compared too."""
    for call, arguments in calls(np.random.default_rng(63), kind):
        given = [frozen(argument, choice) for argument in arguments]
        before = [array.copy() for argument in given for array in arrays_of(argument)]
        call(*given)
        after = [array for argument in given for array in arrays_of(argument)]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        # Writeable arrays must not be written to either.
        given = [frozen(argument, choice) for argument in arguments]
        for argument in given:
            for array in arrays_of(argument):
                array.flags.writeable = array.base is None or array.base.flags.writeable
        call(*given)
        after = [array for argument in given for array in arrays_of(argument)]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
