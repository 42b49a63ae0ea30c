"""Loading a caller's arrays into the layouts of the GPU: one pass finds the largest capacities, one stores them.

Arrays on the GPU are read in place.  Arrays on the host are copied to the GPU one by one.  The copies are kept between
the two passes if there is memory for all of them; else each array is copied twice.  In order:

    CapacityArrays(problem, layout)   the form (strides and offsets of each row) and all scalars go to the GPU
    upload                            host arrays follow, if there is memory for all of them
    find_largest, found_largest       the first pass, enqueued and read; `choose_number_types` decides from it
    fill                              a new `State`, loaded by the second pass
    forget                            a kept solve (device_flow.py) drops the caller's arrays, and keeps copies and form
    replace                           the next problem of the same form, its host arrays copied to the same places
    changed                           for a `Solver`: other arrays in some rows, sharing the rest
"""

import math
from copy import copy
from typing import NamedTuple

import numpy as np

from gridcut.core.grid import Layout, make_layout
from gridcut.core.load import NOTHING, integer_type, largest_capacities
from gridcut.core.problem import Problem
from gridcut.core.units import CAPACITY_LIMIT, choose_unit, scale_of
from gridcut.cuda.pixel_kernels import (
    ARC,
    CLAMPED,
    FLAT,
    MASK,
    MASKED,
    MAX_UNITS,
    ROW_ENTRIES,
    ROWS_START,
    RUNS,
    SINK,
    SLOTS,
    SOURCE,
    TILED,
    arcs_kernel,
    bounds_kernel,
    clamp_kernel,
    grid_for,
    terminals_kernel,
)
from gridcut.cuda.tile_layout import TileLayout, make_tile_layout
from gridcut.device.arrays import (
    DeviceArray,
    allocate,
    clear,
    copy_in,
    download,
    free_bytes,
    overwrite,
    upload,
    upload_all,
)
from gridcut.device.launch import launch

MAX_NARROW_SUM = 65535  # largest sum of both directions of an edge for residuals in uint16
MEMORY_MARGIN = 1.2  # copies of host arrays are kept if they and the state, times this, fit into free memory


class StateLayout(NamedTuple):
    """The layout of a state: `flat`, of one image, always; `tiles`, of all images, if the state is in tiles."""

    flat: Layout
    tiles: TileLayout | None
    items: int

    @property
    def extent(self) -> tuple[int, int, int]:
        return self.flat.extent

    @property
    def runs(self) -> int:
        depth, height, width = self.extent
        return depth * height * -(-width // 32)

    @property
    def pixels(self) -> int:
        return self.items * math.prod(self.extent)

    @property
    def cells(self) -> int:
        return self.flat.size if self.tiles is None else self.tiles.cells

    def offset3(self, row: int) -> tuple[int, int, int]:
        return self.flat.offset3(row - ARC) if row >= ARC else (0, 0, 0)


class NumberTypes(NamedTuple):
    """Dtypes of the state; unit: value of 1, as in gridcut.core.grid.Grid; bound: as in Problem."""

    excess: type
    residual: type
    unit: float | int
    bound: float | None = None

    @property
    def scale(self) -> float:
        """First factor of float capacities in kernels; 0 for integers."""
        return scale_of(self.unit, self.bound)[0] if isinstance(self.unit, float) else 0.0

    @property
    def form_entries(self) -> np.ndarray:
        """Entries MAX_UNITS to CLAMPED of the form."""
        _, finer, most, _ = scale_of(self.unit, self.bound) or (1, 1, CAPACITY_LIMIT, 1)
        return np.array([most, finer, self.bound is not None], np.int64)


class State(NamedTuple):
    """A problem on the GPU.  sums: the capacities to the sink, then the excess left on the sink side, in halves."""

    layout: StateLayout
    number_types: NumberTypes
    form: object
    mask: object
    excess: object
    residual: object
    sums: object

    @property
    def unit(self) -> float | int:
        return self.number_types.unit

    @property
    def dtype(self) -> type:
        return self.number_types.excess

    @property
    def to_sink(self):
        return self.sums[: 2 * self.layout.items]

    @property
    def left(self):
        return self.sums[2 * self.layout.items :]


def make_state_layout(problem: Problem, tiled: bool) -> StateLayout:
    flat = make_layout(problem.shape, problem.edges)
    items = 1 if problem.items is None else problem.items
    return StateLayout(flat, make_tile_layout(items, problem.shape, flat.offsets) if tiled else None, items)


class CapacityArrays:
    """The capacity arrays of a problem as kernels read them: for each row of the form, its data on the GPU.

    form, mask    arguments of the kernels in gridcut/cuda/pixel_kernels.py
    keeps_copies  whether there is memory for copies of all host arrays
    """

    def __init__(self, problem: Problem, layout: StateLayout):
        self.problem = problem
        self.layout = layout
        self._of_row = _arrays_by_row(problem, layout.flat)
        self._copies = {}
        self.keeps_copies = self._room_for_copies()
        self._form_entries: np.ndarray | None = NumberTypes(np.int64, np.int64, 1).form_entries
        constants = self._constants()
        self._upload_form(constants)
        self.mask = self.data(MASK)

    def _room_for_copies(self) -> bool:
        wanted = sum(a.nbytes for a in self._of_row.values() if not isinstance(a, DeviceArray) and a.ndim)
        state = self.layout.cells * 4 * (1 + self.layout.flat.arcs)
        return wanted == 0 or (wanted + state) * MEMORY_MARGIN < free_bytes()

    def _constants(self) -> dict[int, np.ndarray]:
        """Arrays with one element, in the dtype of a larger array if that can hold it, so fewer kernels compile."""
        long = [a.dtype for row, a in self._of_row.items() if a.ndim and row != MASK]
        constants = {}
        for row, array in self._of_row.items():
            if isinstance(array, DeviceArray) or array.ndim:
                continue
            kind = next((d for d in long[1:] + long[:1] if _holds(d, array)), array.dtype)
            constants[row] = array.astype(np.uint8 if row == MASK else kind)
        return constants

    def _upload_form(self, constants) -> None:
        """Copy the form and all constants to the GPU in one transfer."""
        form = _form(self.problem, self.layout, self._of_row)
        form[MAX_UNITS : CLAMPED + 1] = self._form_entries
        sums = 3 * (ARC + self.layout.flat.arcs)
        block = np.zeros(form.size + len(constants) + sums, np.int64)
        block[: form.size] = form
        raw = block.view(np.uint8)
        for i, array in enumerate(constants.values()):
            raw[8 * (form.size + i) :][: array.itemsize] = np.frombuffer(array.tobytes(), np.uint8)
        memory = upload(block)
        self.form, self._sums, self._sums_are_zero = memory[: form.size], memory[block.size - sums :], True
        for i, (row, array) in enumerate(constants.items()):
            self._copies[row] = memory[form.size + i : form.size + i + 1].view(array.dtype)[:1]

    def data(self, row: int):
        """The data of a row on the GPU."""
        if row in self._copies:
            return self._copies[row]
        array = self._of_row[row]
        if isinstance(array, DeviceArray):
            data = array.data
        else:
            for other, copied in self._copies.items():  # an undirected edge serves two arcs
                if self._of_row[other] is array:
                    return copied
            data = upload(array)
        if row == MASK:
            data = data.view(np.uint8)
        if self.keeps_copies or row == MASK or isinstance(array, DeviceArray):
            self._copies[row] = data
        return data

    def upload(self) -> None:
        """Copy all host arrays to the GPU, if there is memory for them."""
        if not self.keeps_copies:
            return
        rows = {}  # the first row that reads each array; an undirected edge serves two arcs
        for row, array in self._of_row.items():
            if row not in self._copies and not isinstance(array, DeviceArray):
                rows.setdefault(id(array), row)
        copies = upload_all([self._of_row[row] for row in rows.values()]) if rows else []
        for row, copied in zip(rows.values(), copies, strict=True):
            self._copies[row] = copied.view(np.uint8) if row == MASK else copied
        for row in self._of_row:
            self.data(row)

    def given_rows(self) -> list[int]:
        """Rows of the arrays passed by the caller, without arcs that read the array of their opposite."""
        flat, edges = self.layout.flat, self.problem.edges
        return [SOURCE, SINK, *(ARC + k for k in range(flat.arcs) if flat.offsets[k] in edges)]

    def groups(self, rows):
        """Yield (rows, data), up to SLOTS rows of one dtype at a time."""
        by_kind = {}
        for row in rows:
            kind = self._copies[row].dtype if row in self._copies else self._of_row[row].dtype
            by_kind.setdefault(kind, []).append(row)
        for same in by_kind.values():
            for first in range(0, len(same), SLOTS):
                part = same[first : first + SLOTS]
                yield part, [self.data(row) for row in part]

    def launch(self, kernel, rows, *args) -> None:
        """Launch a kernel over all pixels for these rows; its arguments are the slots, mask, form and args."""
        for part, data in self.groups(rows):
            self.launch_group(kernel, part, data, *args)

    def launch_group(self, kernel, part, data, *args, most=None) -> None:
        grid = grid_for(self.layout.runs, self.layout.items, len(part), *(() if most is None else (most,)))
        spare = SLOTS - len(part)
        slots = [*data, *data[:1] * spare, *(np.int32(row) for row in part), *[np.int32(0)] * spare]
        launch(kernel, *grid, *slots, self.mask, self.form, *args)

    def largest(self, rows: list[int]) -> dict[int, int | float]:
        """The largest capacity of each row; ValueError if one is negative or NaN."""
        self.find_largest(rows)
        return self.found_largest(rows)

    def find_largest(self, rows: list[int]) -> None:
        """Enqueue the search for the largest capacities."""
        self.clear_largest()
        whole, real, bad = self._sums_by_kind(self._sums)
        for part, data in self.groups(rows):
            self.launch_group(bounds_kernel, part, data, real if data[0].dtype.kind == "f" else whole, bad)

    def clear_largest(self) -> None:
        if not self._sums_are_zero:
            clear(self._sums)
        self._sums_are_zero = False

    def found_largest(self, rows: list[int]) -> dict[int, int | float]:
        """The result of `find_largest`."""
        whole, real, bad = self._sums_by_kind(download(self._sums))
        if bad.any():
            raise bad_capacity_of(self.problem)
        return {row: max(whole[row].item(), real[row].item()) for row in rows}

    def _sums_by_kind(self, sums):
        """The largest integers, the largest floats, and whether there is a bad one, by row; an array has one kind."""
        count = len(self.layout.flat.offsets) + ARC
        return sums[:count], sums[count : 2 * count].view(np.float64), sums[2 * count :]

    def bounds(self) -> list:
        """Largest capacity of the source, of the sink and of each arc."""
        return by_arc(self.largest(self.given_rows()), self.layout.flat.arcs)

    def forget(self) -> None:
        """Drop all references to the caller's arrays."""
        for row, array in self._of_row.items():
            if isinstance(array, DeviceArray):
                self._copies.pop(row, None)
        self.problem, self._of_row = None, {}

    def replace(self, problem: Problem) -> None:
        """Read another problem with arrays of the same form; those on the host are copied to the same places."""
        self.problem, self._of_row = problem, _arrays_by_row(problem, self.layout.flat)
        on_host = {row: a for row, a in self._of_row.items() if row in self._copies and a.ndim}
        copy_in([(np.ascontiguousarray(array).reshape(-1), self._copies[row]) for row, array in on_host.items()])

    def changed(self, problem: Problem, arrays: dict[int, DeviceArray]) -> "CapacityArrays":
        """These arrays with those of some rows replaced by arrays of the same shape and strides."""
        new = copy(self)
        new.problem, new._of_row, new._copies = problem, dict(self._of_row), dict(self._copies)
        for row, array in arrays.items():
            old = self._of_row[row]
            for other, known in self._of_row.items():
                if known is old:
                    new._of_row[other] = array
                    new._copies.pop(other, None)
        return new

    def fill(self, number_types: NumberTypes) -> State:
        """Allocate a state and load all capacities into it."""
        layout = self.layout
        cells = layout.cells
        state = allocate(
            (4 * layout.items, np.int64),
            (cells, number_types.excess),
            (cells * layout.flat.arcs, number_types.residual),
            zero=True,
        )
        sums, excess, residual = state
        self.set_number_types(number_types)
        state = State(layout, number_types, self.form, self.mask, excess, residual, sums)
        self.load_terminals(state)
        self.launch(arcs_kernel, range(ARC, ARC + layout.flat.arcs), np.float64(number_types.scale), residual)
        if number_types.bound is not None:
            launch(clamp_kernel, *grid_for(layout.runs, layout.items, 1), self.mask, self.form, excess, residual)
        return state

    def set_number_types(self, number_types: NumberTypes) -> None:
        """Write the entries for the conversion of floats to units into the form, if they have changed."""
        wanted = number_types.form_entries
        if self._form_entries is None or not np.array_equal(wanted, self._form_entries):
            self._form_entries = None  # until the form has been written
            overwrite(self.form[MAX_UNITS : CLAMPED + 1], wanted)
            self._form_entries = wanted

    def load_terminals(self, state: State) -> None:
        grid = grid_for(self.layout.runs, self.layout.items, 1)
        scale = np.float64(state.number_types.scale)
        source, sink = self.data(SOURCE), self.data(SINK)
        launch(terminals_kernel, *grid, source, sink, self.mask, self.form, scale, state.excess, state.to_sink)


def by_arc(largest: dict, arcs: int) -> list:
    """Largest capacities in the order of `largest_capacities`; an arc without an array gets its opposite's."""
    rows = range(ARC, ARC + arcs)
    return [largest[SOURCE], largest[SINK], *(largest.get(r, largest.get(((r - ARC) ^ 1) + ARC, 0)) for r in rows)]


def choose_number_types(problem: Problem, bounds: list, tiled: bool) -> NumberTypes:
    """The narrowest integer dtypes that hold every sum; for floats int64, and the unit."""
    if problem.is_float:
        return NumberTypes(np.int64, np.int64, *choose_unit(bounds, problem.bound))
    excess = integer_type(bounds)
    arcs = bounds[ARC - 1 :]
    narrow = (
        tiled
        and excess == np.int32
        and all(a + b <= MAX_NARROW_SUM for a, b in zip(arcs[::2], arcs[1::2], strict=True))
    )
    return NumberTypes(excess, np.uint16 if narrow else excess, 1)


def bad_capacity_of(problem: Problem) -> ValueError:
    """The error for the first invalid capacity, which is searched on the host."""
    host = problem.on_host()
    layout = make_layout(problem.shape, problem.edges)
    for i in range(1 if problem.items is None else problem.items):
        item = host.item(i)
        try:
            largest_capacities(item, layout)
        except ValueError as error:
            return error if problem.items is None else ValueError(f"item {i}: {error}")
    raise AssertionError("the GPU finds an invalid capacity, the host finds none")


def _arrays_by_row(problem: Problem, layout: Layout) -> dict:
    arrays = {
        MASK: np.zeros((), bool) if problem.mask is None else problem.mask,
        SOURCE: problem.source,
        SINK: problem.sink,
    }
    for k, offset in enumerate(layout.offsets):
        arrays[ARC + k] = problem.edges.get(offset, problem.edges.get(layout.offsets[k ^ 1], NOTHING))
    return arrays


def _form(problem: Problem, layout: StateLayout, arrays: dict) -> np.ndarray:
    """See gridcut/cuda/pixel_kernels.py."""
    flat, tiles = layout.flat, layout.tiles
    form = [0] * (ROWS_START + ROW_ENTRIES * len(arrays))
    form[: MASKED + 1] = (
        FLAT if tiles is None else TILED,
        flat.arcs,
        layout.items,
        *layout.extent,
        -(-layout.extent[2] // 32),
        problem.mask is not None,
    )
    assert RUNS == MASKED - 1
    if tiles is None:
        form[8:11] = (flat.head, *flat.stride3[:2])
    else:
        form[8:13] = (*tiles.tiles, tiles.tile[0].bit_length() - 1, tiles.tile[1].bit_length() - 1)
    for row, array in arrays.items():
        start, strides = _strides(array, len(problem.shape))
        offset = layout.offset3(row)
        if (
            row >= ARC and flat.offsets[row - ARC] not in problem.edges
        ):  # reads the array of the opposite arc, at the far end
            start += sum(o * s for o, s in zip(offset, strides[1:], strict=True))
        form[ROWS_START + ROW_ENTRIES * row : ROWS_START + ROW_ENTRIES * (row + 1)] = (start, *strides, *offset)
    return np.array(form, np.int64)


def _strides(array, axes: int) -> tuple[int, tuple[int, ...]]:
    """Start of an array, and its strides for image, z, y, x; copies of host arrays are contiguous."""
    if isinstance(array, DeviceArray):
        start, strides = array.start, array.strides
    else:
        start, strides = 0, tuple(math.prod(array.shape[i + 1 :]) for i in range(array.ndim))
    if not strides:
        return start, (0, 0, 0, 0)
    batch = strides[0] if len(strides) > axes else 0
    return start, (batch, *(0,) * (3 - axes), *strides[len(strides) - axes :])


def _holds(kind: np.dtype, scalar: np.ndarray) -> bool:
    """Whether a number has the same value in another dtype."""
    value = scalar.item()
    if kind.kind != "f":
        return isinstance(value, int) and np.iinfo(kind).min <= value <= np.iinfo(kind).max
    return abs(value) <= np.finfo(kind).max and kind.type(value).item() == value
