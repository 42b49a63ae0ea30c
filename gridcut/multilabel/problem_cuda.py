"""A multi-label energy on a GPU: checked, with integer weights in tiles; unary costs are read from the caller's array.

Arrays on the host are copied to the GPU first, and checked there like arrays that are already on it.  For the error
message, invalid values are located on the host, by gridcut/multilabel/validation.py."""

import math
from functools import cached_property

import numpy as np

from gridcut.core.grid import make_layout
from gridcut.core.problem import as_array, as_device_array, check_offset, ends
from gridcut.cuda.pixel_kernels import first_run, grid_for, run_step, units, warp_max, warp_sum
from gridcut.cuda.tile_layout import has_only_direct_neighbours, make_tile_layout, to_image
from gridcut.device.arguments import INT64_MAX, plain_array
from gridcut.device.arrays import DeviceArray, allocate, download, free_bytes, on_device, to_host, upload
from gridcut.device.cuda import cuda, cuda_kernel, device_function
from gridcut.device.launch import launch
from gridcut.multilabel.moves_cuda import DEPTH, HEIGHT, LABELS, VIEW_SIZE, WIDTH, cell_of, unary_cost, unary_index
from gridcut.multilabel.validation import (
    CLAMP_RATIO,
    LabelProblem,
    as_numeric,
    check_cost,
    check_labels,
    check_mapping,
    check_shape,
    check_start_kind,
    check_start_range,
    check_weight_shape,
    choose_units,
    clamped_on_host,
    warn_of_last_axis,
)

# Kernels that visit all pixels once: value ranges, weights into tiles, labels in and out, energies.
#
# A `view` describes the layout of a caller's array, and a `box` also a part of it: data[start + item * s0 + z * s1 +
# ...] for all items and a box of pixels.  A warp walks along runs of 32 pixels of a line.

# Positions in a box: start; strides of items, z, y, x; number of items; first pixel (z, y, x); lengths (z, y, x).
BOX_ORIGIN, BOX_ITEM_STEP, BOX_STEP_Z, BOX_STEP_Y, BOX_STEP_X, BOX_ITEMS, BOX_LOW, BOX_LENGTH = 0, 1, 2, 3, 4, 5, 6, 9
BOX_SIZE = 12
VOTE_COPIES = 64  # copies of the vote counters, to spread the atomic additions


@device_function
def run_at(run, width):
    """The line of a run of 32 pixels, and the x of this lane; lines are `width` long."""
    runs = (width + 31) // 32
    return run // runs, run % runs * 32 + np.int64(cuda.threadIdx.x & 31)


@device_function
def box_index(box, z, y, x):
    """Index in the caller's array of pixel (z, y, x) of item 0."""
    return box[BOX_ORIGIN] + z * box[BOX_STEP_Z] + y * box[BOX_STEP_Y] + x * box[BOX_STEP_X]


@device_function
def runs_of(view):
    return view[DEPTH] * view[HEIGHT] * ((view[WIDTH] + 31) // 32)


@device_function
def pixel_and_cell(view, run, tiles, tile):
    """(z, y, x) of this lane in a run of the grid, and its cell; -1 past the end of the line."""
    line, x = run_at(run, view[WIDTH])
    z, y = line // view[HEIGHT], line % view[HEIGHT]
    if x >= view[WIDTH]:
        return z, y, x, np.int64(-1)
    return z, y, x, flat_cell(z, y, x, tiles, tile)


@device_function
def flat_cell(z, y, x, tiles, tile):
    """The cell of a pixel."""
    t, cell = cell_of(z, y, x, tiles, tile)
    return np.int64(t) * 1024 + cell


@device_function
def pixel_of_box(box, run):
    """(z, y, x) of this lane in a run of the pixels of a box, and whether there is one."""
    height, width = box[BOX_LENGTH + 1], box[BOX_LENGTH + 2]
    line, x = run_at(run, width)
    z, y = line // height + box[BOX_LOW], line % height + box[BOX_LOW + 1]
    return z, y, x + box[BOX_LOW + 2], x < width


@device_function
def box_runs(box):
    return box[BOX_LENGTH] * box[BOX_LENGTH + 1] * ((box[BOX_LENGTH + 2] + 31) // 32)


@cuda_kernel
def range_kernel(data, box, found, bad):
    """found[0]: the largest -value, found[1]: the largest value; bad[0]: 1 if a value is not finite.

    found[2] must be 0, and found[3] the lowest value whose negative can be represented.
    """
    low, high, zero, lowest = found[0], found[1], found[2], found[3]
    is_bad = False
    runs = box_runs(box)
    for run in range(first_run(), box[BOX_ITEMS] * runs, run_step()):
        z, y, x, is_inside = pixel_of_box(box, run % runs)
        if is_inside:
            value = zero + data[box_index(box, z, y, x) + run // runs * box[BOX_ITEM_STEP]]
            if value - value != 0:
                is_bad = True
            else:
                low, high = max(low, -max(value, lowest)), max(high, value)
    if is_bad:
        bad[0] = 1
    low, high = warp_max(low), warp_max(high)
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.max(found, 0, low)
        cuda.atomic.max(found, 1, high)


@cuda_kernel
def weight_kernel(data, box, scale, k, offset, tiles, tile, arcs, weight):
    """Add an array of weights to those of arc k and, at the far end, of the opposite arc.  `weight` starts as zeros."""
    for run in range(first_run(), box_runs(box), run_step()):
        z, y, x, is_inside = pixel_of_box(box, run)
        if is_inside:
            value = units(data[box_index(box, z, y, x)], scale)
            t, cell = cell_of(z, y, x, tiles, tile)
            weight[(np.int64(t) * arcs + k) * 1024 + cell] += value
            t, cell = cell_of(z + offset[0], y + offset[1], x + offset[2], tiles, tile)
            weight[(np.int64(t) * arcs + (k ^ 1)) * 1024 + cell] += value


@cuda_kernel
def cheapest_kernel(unary, view, scale, tiles, tile, label):
    """The cheapest label of each pixel, the first one on ties."""
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            best = np.int32(0)
            lowest = unary_cost(unary, view, scale, 0, z, y, x)
            for i in range(1, view[LABELS]):
                other = unary_cost(unary, view, scale, i, z, y, x)
                if other < lowest:
                    best, lowest = np.int32(i), other
            label[own] = best


@cuda_kernel
def votes_kernel(view, tiles, tile, label, votes):
    """votes[i * VOTE_COPIES + ...]: partial counts of the pixels with label i."""
    for run in range(first_run(), runs_of(view), run_step()):
        _, _, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            cuda.atomic.add(votes, label[own] * VOTE_COPIES + (run + x) % VOTE_COPIES, np.int32(1))


@cuda_kernel
def start_kernel(data, box, view, tiles, tile, label):
    """Labels from a caller's array."""
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            label[own] = data[box_index(box, z, y, x)]


@cuda_kernel
def paid_kernel(unary, view, scale, tiles, tile, label, paid):
    """The unary cost of every pixel's label."""
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            paid[own] = unary_cost(unary, view, scale, label[own], z, y, x)


@cuda_kernel
def energy_kernel(view, cost, weight, label, paid, offsets, tiles, tile, total):
    """Add the energy of the labelling to total[0]."""
    arcs = offsets.size // 3
    mine = np.int64(0)
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            mine += paid[own]
            for k in range(0, arcs, 2):
                w = np.int64(weight[(own // 1024 * arcs + k) * 1024 + own % 1024])
                if w > 0:
                    far = flat_cell(z + offsets[3 * k], y + offsets[3 * k + 1], x + offsets[3 * k + 2], tiles, tile)
                    mine += w * cost[label[own] * view[LABELS] + label[far]]
    mine = warp_sum(mine)
    if cuda.threadIdx.x & 31 == 0 and mine != 0:
        cuda.atomic.add(total, 0, mine)


@cuda_kernel
def unary_sum_kernel(unary, view, tiles, tile, label, partial):
    """Sum of the labels' unary costs as floats, one partial sum per warp, so that the order is always the same."""
    total = 0.0
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            total += np.float64(unary[unary_index(view, label[own], z, y, x)])
    total = warp_sum(total)
    if cuda.threadIdx.x & 31 == 0:
        partial[first_run()] = total


@cuda_kernel
def edge_sum_kernel(data, box, offset, cost, labels, tiles, tile, label, partial):
    """The same for the costs of the edges along one offset."""
    total = 0.0
    for run in range(first_run(), box_runs(box), run_step()):
        z, y, x, is_inside = pixel_of_box(box, run)
        if is_inside:
            mine = label[flat_cell(z, y, x, tiles, tile)]
            theirs = label[flat_cell(z + offset[0], y + offset[1], x + offset[2], tiles, tile)]
            total += np.float64(data[box_index(box, z, y, x)]) * cost[mine * labels + theirs]
    total = warp_sum(total)
    if cuda.threadIdx.x & 31 == 0:
        partial[first_run()] = total


@cuda_kernel
def labels_kernel(view, tiles, tile, label, out):
    """The labels in raster order."""
    for run in range(first_run(), runs_of(view), run_step()):
        z, y, x, own = pixel_and_cell(view, run, tiles, tile)
        if own >= 0:
            out[(z * view[HEIGHT] + y) * view[WIDTH] + x] = label[own]


@cuda_kernel
def copy_kernel(source, target):
    """Copy an array."""
    for i in range(np.int64(cuda.grid(1)), target.size, cuda.gridsize(1)):
        target[i] = source[i]


MAX_SUM_BLOCKS = 264  # blocks that write partial sums, which the host adds
RANGE_SIZE = 4  # entries of `found` in range_kernel
MAX_EXPONENT = 1000  # keeps 2^exponent a normal float


class DeviceProblem:
    """A checked energy of at least one pixel, in the form that kernels read.

    arguments   the arguments of the caller
    unary       flat window of the caller's costs
    view        see moves_cuda.py
    scale       see `units` in gridcut/cuda/pixel_kernels.py
    weight, cost, number, unit      as in moves_cuda.py and validation.LabelProblem
    """

    allowed = None

    def __init__(self, unary, weights, label_cost, *, metric: bool):
        self.arguments, self._metric = (unary, weights, label_cost), metric
        costs = _as_array("unary", unary)
        self.count, self.shape = check_shape(costs.shape)
        check_mapping(weights)
        axes = len(self.shape)
        given = [(check_offset(o, axes, "weights"), _as_array(f"weights[{o}]", w)) for o, w in weights.items()]
        for offset, weight in given:
            check_weight_shape(f"weights[{offset}]", weight, self.shape, self.count)
        if label_cost is None and not any(weight.ndim for _, weight in given):
            warn_of_last_axis(costs.shape)
        cost = check_cost(None if label_cost is None else to_host(label_cost), self.count, self.shape)
        self.library = costs.library if isinstance(costs, DeviceArray) else None
        self.layout = make_layout(self.shape, [offset for offset, _ in given])
        if not has_only_direct_neighbours(self.layout.offsets):
            raise ValueError("weights: device='cuda' supports edges to direct neighbours only; use device='cpu'")
        self.tiles = make_tile_layout(1, self.shape, self.layout.offsets)
        costs = _Flat(costs)
        flat = {offset: _Flat(weight) for offset, weight in given}
        is_float = any(a.dtype.kind == "f" for a in (costs, cost, *flat.values()))
        boxes = [(costs, (0,) * axes, self.shape, self.count)]
        for offset, weight in flat.items():
            region, _ = ends(self.shape, (offset,))
            boxes.append((weight, [s.start for s in region], [s.stop - s.start for s in region], 1))
        ranges = self._value_ranges(boxes)
        incident = 2 * float(cost.max()) * sum(max(high, 0) for _, high in ranges[1:]) if ranges else 0.0
        if ranges is None or (costs.dtype.kind == "f" and max(ranges[0]) > CLAMP_RATIO * incident):
            costs = _Flat(clamped_on_host(*self.host_arguments()[:2], cost))
            boxes[0] = (costs, *boxes[0][1:])
            ranges = self._value_ranges(boxes)
        (low, high), *of_weights = ranges
        if any(low > 0 for low, _ in of_weights):
            self._raise_host_error()
        largest_unary, largest_weights = max(low, high), [max(high, 0) for _, high in of_weights]
        units = choose_units(costs.shape, largest_unary, largest_weights, cost, is_float, metric)
        self.number, self.unit = units.number, units.unit
        self.unary, self.scale = costs.data, _scale_factor(units.unary_power)
        self.cost = upload(units.cost)
        view = np.zeros(VIEW_SIZE, np.int64)
        view[:9] = (costs.start, *costs.strides4(axes), *self.tiles.extent, self.count)
        self.view_on_host = view
        self.view = upload(view)
        self._load_weights(flat, units)

    def _value_ranges(self, boxes) -> list[tuple]:
        """The largest -value and the largest value in each box; None if a unary cost is infinite.

        boxes   (array, first pixel of the box, its lengths, number of items) each; one round trip to the GPU for all
        """
        rows = np.zeros((len(boxes), BOX_SIZE + RANGE_SIZE + 1), np.int64)
        reals = [array.dtype.kind == "f" for array, *_ in boxes]
        for row, real, (array, low, lengths, items) in zip(rows, reals, boxes, strict=True):
            row[:BOX_SIZE] = array.box(low, lengths, items)
            if real:
                row[BOX_SIZE:-1].view(np.float64)[:] = (-math.inf, -math.inf, 0, -math.inf)
            else:
                row[BOX_SIZE:-1] = (-INT64_MAX, -INT64_MAX, 0, -INT64_MAX)
        memory = upload(rows)
        for i, (real, (array, _, lengths, items)) in enumerate(zip(reals, boxes, strict=True)):
            row = memory[i * rows.shape[1] : (i + 1) * rows.shape[1]]
            found = row[BOX_SIZE : BOX_SIZE + RANGE_SIZE]
            found = found.view(np.float64) if real else found
            if 0 not in lengths:
                grid = grid_for(_run_count(lengths) * items, 1, 1)
                launch(range_kernel, *grid, array.data, row[:BOX_SIZE], found, row[BOX_SIZE + RANGE_SIZE :])
        rows = download(memory).reshape(rows.shape)
        if rows[:, -1].any():
            self.on_host()  # raises for all other values that are not finite
            return None
        ranges = [
            row[BOX_SIZE:-1].view(np.float64) if real else row[BOX_SIZE:-1]
            for real, row in zip(reals, rows, strict=True)
        ]
        return [
            (0, 0) if 0 in lengths else (found[0].item(), found[1].item())
            for found, (_, _, lengths, _) in zip(ranges, boxes, strict=True)
        ]

    def _raise_host_error(self) -> None:
        """Raise the error that validation on the host finds for an invalid value."""
        self.on_host()
        raise AssertionError("the GPU found an invalid value, validation on the host none")

    def _load_weights(self, flat: dict, units) -> None:
        """Write the weights into tiles."""
        cells, arcs = self.tiles.cells, self.tiles.arcs
        (self.weight,) = allocate((cells * arcs, self.number), zero=True)
        self.offsets = upload(np.array(self.tiles.offsets, np.int32).reshape(-1))
        self._edges = []  # of each offset: launch grid, data, box and step for kernels that visit its edges
        for offset, weight in flat.items():
            if offset not in self.layout.offsets:
                continue  # an offset longer than the grid has no edges
            k = self.layout.arc(offset)
            region, _ = ends(self.shape, (offset,))
            lengths = [s.stop - s.start for s in region]
            box = upload(weight.box([s.start for s in region], lengths))
            step = tuple(np.int32(i) for i in self.tiles.offsets[k])
            self._edges.append((grid_for(_run_count(lengths), 1, 1, MAX_SUM_BLOCKS), weight.data, box, step))
            if units.unary_power is not None and units.weight_power is None:
                continue  # all costs of labels are 0
            scale = _scale_factor(units.weight_power)
            arguments = (weight.data, box, scale, np.int32(k), step, *self.tiling, np.int32(arcs), self.weight)
            launch(weight_kernel, *grid_for(_run_count(lengths), 1, 1), *arguments)

    @cached_property
    def tiling(self) -> tuple:
        """Tiles along each axis, and the shape of a tile."""
        return tuple(tuple(np.int32(i) for i in sizes) for sizes in (self.tiles.tiles, self.tiles.tile))

    def on_host(self) -> LabelProblem:
        """The same energy on the host."""
        return check_labels(*self.host_arguments(), metric=self._metric)

    def host_arguments(self) -> tuple:
        """The caller's arguments, on the host."""
        unary, weights, label_cost = self.arguments
        return to_host(unary), {o: to_host(w) for o, w in weights.items()}, to_host(label_cost)

    def launch(self, kernel, *args) -> None:
        """Launch a kernel over all pixels."""
        launch(kernel, *grid_for(_run_count(self.shape), 1, 1), *args)

    def cheapest(self):
        """The cheapest label of each pixel, in tiles."""
        (label,) = allocate((self.tiles.cells, np.int32), zero=True)
        self.launch(cheapest_kernel, self.unary, self.view, self.scale, *self.tiling, label)
        return label

    def votes(self) -> np.ndarray:
        """Number of pixels at which each label is the cheapest."""
        (votes,) = allocate((self.count * VOTE_COPIES, np.int32), zero=True)
        self.launch(votes_kernel, self.view, *self.tiling, self.cheapest(), votes)
        return download(votes).reshape(self.count, VOTE_COPIES).sum(1, dtype=np.int64)

    def check_start(self, start):
        """The initial labelling, in tiles; the cheapest label of each pixel if `start` is None."""
        if start is None:
            return self.cheapest()
        if not on_device(start):
            check_start_range(check_start_kind(plain_array("start", start), self.shape), self.count)
        labels = _Flat(check_start_kind(_as_array("start", start), self.shape))
        if on_device(start):
            ((low, high),) = self._value_ranges([(labels, (0,) * len(self.shape), self.shape, 1)])
            check_start_range(np.array([-low, high]), self.count)
        (label,) = allocate((self.tiles.cells, np.int32), zero=True)
        box = upload(labels.box((0,) * len(self.shape), self.shape))
        self.launch(start_kernel, labels.data, box, self.view, *self.tiling, label)
        return label

    def update_paid(self, label, paid) -> None:
        self.launch(paid_kernel, self.unary, self.view, self.scale, *self.tiling, label, paid)

    def energy(self, label, paid) -> int:
        (total,) = allocate((1, np.int64), zero=True)
        arrays = (self.view, self.cost, self.weight, label, paid, self.offsets)
        self.launch(energy_kernel, *arrays, *self.tiling, total)
        return int(download(total)[0])

    def float_energy(self, label) -> float:
        """`energy_of` for the caller's arrays, except for the order of summation."""
        label_cost = self.arguments[2]
        cost = check_cost(None if label_cost is None else to_host(label_cost), self.count)
        cost = upload(cost.astype(np.float64))
        parts = []
        grids = [grid_for(_run_count(self.shape), 1, 1, MAX_SUM_BLOCKS), *(edge[0] for edge in self._edges)]
        for i, ((blocks, _, _), threads) in enumerate(grids):
            (partial,) = allocate((blocks * threads // 32, np.float64))
            if i == 0:
                arguments = (self.unary, self.view, *self.tiling, label, partial)
                launch(unary_sum_kernel, blocks, threads, *arguments)
            else:
                _, data, box, step = self._edges[i - 1]
                arguments = (data, box, step, cost, np.int32(self.count), *self.tiling, label, partial)
                launch(edge_sum_kernel, blocks, threads, *arguments)
            parts.append(float(download(partial).sum()))
        return sum(parts)

    def raster(self, label):
        """Labels in raster order, flat, on the GPU."""
        (out,) = allocate((math.prod(self.shape), np.int32))
        self.launch(labels_kernel, self.view, *self.tiling, label, out)
        return out

    def pixels_of(self, words: np.ndarray) -> np.ndarray:
        """Indices of the pixels whose bits are set; `words`, on the host, has one word per row of a tile."""
        bits = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, 1024)
        return np.flatnonzero(to_image(self.tiles, bits))

    def has_memory_for_flows(self) -> bool:
        """Whether the GPU has twice the memory that the flows of all labels need."""
        needed = self.count * self.tiles.cells * (self.tiles.arcs // 2) * np.dtype(self.number).itemsize
        return 2 * needed < free_bytes()


class _Flat:
    """An array on the GPU with strides for kernels; host arrays are copied to the GPU."""

    def __init__(self, array):
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        if isinstance(array, DeviceArray):
            self.data, self.start, self.strides = array.data, array.start, array.strides
        else:
            self.data, self.start = upload(array), 0
            self.strides = tuple(math.prod(array.shape[i + 1 :]) for i in range(array.ndim))

    def strides4(self, axes: int) -> tuple[int, ...]:
        """Strides of items, z, y, x."""
        if not self.strides:
            return 0, 0, 0, 0
        item = self.strides[0] if len(self.strides) > axes else 0
        return (item, *(0,) * (3 - axes), *self.strides[len(self.strides) - axes :])

    def box(self, low, lengths, items: int = 1) -> np.ndarray:
        """A box as described above."""
        axes = len(lengths)
        lead = 3 - axes
        box = (self.start, *self.strides4(axes), items, *(0,) * lead, *low, *(1,) * lead, *lengths)
        assert len(box) == BOX_SIZE
        return np.array(box, np.int64)


def _as_array(name: str, value):
    """An array on the host or on a GPU, of a dtype that kernels read."""
    if on_device(value):
        array = as_device_array(name, value)
        if array.dtype.kind == "b":
            data, form = array.data.view(np.uint8), (array.start, array.strides, array.shape)
            return DeviceArray(data, *form, np.dtype(np.uint8), array.library)
        return as_array(name, value)
    return as_array(name, as_numeric(name, value))


def _run_count(lengths) -> int:
    return math.prod(lengths[:-1]) * -(-lengths[-1] // 32)


def _scale_factor(power: int | None) -> np.float64:
    """Factor from float costs to integer units; 0 if the costs are integers."""
    # Beyond that, weights are all zero, or negligible compared with the unary costs.
    return np.float64(0 if power is None else math.ldexp(1.0, max(-MAX_EXPONENT, min(power, MAX_EXPONENT))))
