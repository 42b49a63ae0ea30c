"""max_flow on several GPUs: slabs loaded, solved, and their labels and state brought together on the host."""

import time
from typing import NamedTuple

import numpy as np

from gridcut.capacity import cut_capacity
from gridcut.cuda.flow import labels_and_values
from gridcut.cuda.slabs.load import load_slabs, on_all
from gridcut.cuda.slabs.machine import Machine
from gridcut.cuda.slabs.solve import solve
from gridcut.cuda.slabs.split import Part, split
from gridcut.cuda.tiles.layout import CELLS, to_image
from gridcut.cut import Cut, Later, Solved
from gridcut.device.arrays import download, refusing
from gridcut.device.peers import copy_out, open_gpus
from gridcut.grid import Grid, Layout, make_layout
from gridcut.load import reader
from gridcut.problem import Problem

FETCHED = 1 << 24  # pixels brought to the host at a time


class Lines(NamedTuple):
    """The final state of some lines of a grid.

    excess     the shape of the lines
    residual   the same and a last axis for the arcs, in the order of Layout.offsets
    height     1 + arcs to the nearest pixel with capacity left to the sink; gridcut.cuda.tiles.search.FAR: none
    """

    excess: np.ndarray
    residual: np.ndarray
    height: np.ndarray


def max_flow_on_devices(problem: Problem, devices: list[int], parameters: dict, callback) -> Cut:
    """The cut of a checked problem on the host that is not empty."""
    clock = [time.perf_counter()]
    flat = make_layout(problem.shape, problem.edges)
    parts = split(problem.shape, flat.offsets, len(devices))
    gpus = open_gpus(devices[: len(parts)])
    slabs = load_slabs(problem, parts, gpus)
    numbers = slabs[0].state.numbers
    clock.append(time.perf_counter())
    with refusing():
        machines, stats = solve(slabs, callback=callback, **parameters)
    clock.append(time.perf_counter())
    labels = np.empty(problem.shape, np.bool_)
    values = on_all(lambda i: bring_labels(machines[i], labels), gpus)
    clock.append(time.perf_counter())
    value = cut_capacity(reader(problem, flat), labels, True) if problem.is_float else sum(values)
    clock.append(time.perf_counter())
    stats = {
        **stats,
        "devices": [gpu.device for gpu in gpus],
        "slabs": [(part.first, part.last) for part in parts],
        "seconds": dict(zip(("load", "solve", "download", "value"), np.diff(clock).tolist(), strict=True)),
        "dtype": np.dtype(numbers.excess).name,
        "unit": numbers.unit,
    }
    return Cut(value, labels, "cuda", "tiles", stats, Later(lambda: solved_of(problem, flat, machines)))


def bring_labels(machine: Machine, labels: np.ndarray) -> int:
    """Write the labels of the lines a slab owns; its part of the value, if capacities are integers."""
    part, own = machine.slab.part, machine.slab.own
    first = part.front * CELLS // 32
    side = machine.memory.reach_bits[first : first + part.own.cells // 32]
    found, (value,) = labels_and_values(own, side, None)
    copy_out(found, labels[part.first : part.last])
    return value


def lines_of(machines: list[Machine], first: int, last: int) -> Lines:
    """The state of lines first ... last - 1 along the first axis, from all slabs they lie in."""
    found = []
    for machine in machines:
        part = machine.slab.part
        a, b = max(first, part.first), min(last, part.last)
        if a < b:
            with machine.gpu.active():
                found.append(_lines_of_slab(machine, part, a - part.first, b - part.first))
    return Lines(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _lines_of_slab(machine: Machine, part: Part, first: int, last: int) -> Lines:
    """Lines of one slab, counted from its own first, by the planes of tiles they lie in."""
    own, axis = part.own, part.axis
    shape = machine.slab.own.place.flat.shape
    thick = own.tile[axis] if len(shape) > 1 else shape[0]  # a line of pixels is one plane of tiles
    low, high = first // thick, -(-last // thick)
    tiles, extent = list(own.tiles), list(own.extent)
    if len(shape) > 1:
        tiles[axis], extent[axis] = high - low, min(high * thick, shape[0]) - low * thick
    some = own._replace(tiles=tuple(tiles), extent=tuple(extent))
    cells = slice((low * part.plane) * CELLS, (low * part.plane + some.count) * CELLS)
    ghosts = part.front * CELLS
    wanted = slice(first - low * thick, last - low * thick)

    def image(array):
        """Pixels of planes of tiles as lines."""
        return to_image(some, array.reshape(-1, CELLS)).reshape(-1, *shape[1:])[wanted]

    excess = image(download(machine.slab.own.excess[cells]))
    height = image(download(machine.memory.height[ghosts + cells.start : ghosts + cells.stop]))
    residual = download(machine.slab.own.residual[cells.start * own.arcs : cells.stop * own.arcs])
    residual = residual.reshape(-1, own.arcs, CELLS)
    return Lines(excess, np.stack([image(residual[:, k]) for k in range(own.arcs)], axis=-1), height)


def solved_of(problem: Problem, flat: Layout, machines: list[Machine]) -> Solved:
    """What certificates and flows are made from: the slabs as one grid on the host."""
    numbers = machines[0].slab.state.numbers
    excess = np.zeros(flat.size, numbers.excess)
    residual = np.zeros(flat.size * flat.arcs, numbers.excess)
    lines = problem.shape[0]
    step = max(1, FETCHED * lines // int(np.prod(problem.shape)))
    for first in range(0, lines, step):
        last = min(first + step, lines)
        some = lines_of(machines, first, last)
        flat.interior(excess)[first:last] = some.excess
        flat.interior(residual.reshape(flat.size, flat.arcs))[first:last] = some.residual
    return Solved(problem, reader(problem, flat), Grid(flat, excess, residual, numbers.unit), [])
