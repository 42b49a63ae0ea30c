"""max_flow on grids larger than memory: the public result and driver of gridcut/out_of_core."""

import math
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path

import numpy as np

from gridcut.core.cut import Cut, arc_of, known_offset
from gridcut.core.grid import make_layout
from gridcut.core.load import integer_type
from gridcut.core.outcome import empty_cut
from gridcut.core.problem import Offset
from gridcut.core.solve_exactly import Clock, solve_exactly
from gridcut.core.units import choose_unit
from gridcut.out_of_core import plan, store
from gridcut.out_of_core.block_certificate import certify
from gridcut.out_of_core.sources import Capacities
from gridcut.out_of_core.store import Store
from gridcut.out_of_core.sweeps import Sweeps

LABELS, UNFINISHED = "labels.npy", "labels.new"
NOT_FINITE = (
    "every cut has infinite capacity: infinite capacities lead from the source to the sink, or the smallest sum is "
    "larger than the largest float; make them finite, or scale them down"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredCut(Cut):
    """A minimum cut whose labels and state are on disk.

    labels    a memory-mapped array, or the one passed by the caller; True on the source side
    folder    path of the state; a temporary folder is deleted with the cut

    `check` and `residual` read the state and the caller's capacities again.  A pickled or deep copy has the labels in
    memory, a pickled copy of the capacities, and the folder passed by the caller, or a copy of a temporary folder.
    """

    _capacities: Capacities | None = field(repr=False, default=None)
    _store: Store | None = field(repr=False, default=None)

    @property
    def folder(self) -> Path:
        return self._store.folder

    def check(self) -> None:
        """As `Cut.check`, one strip at a time, within the memory of a solve."""
        certify(self.value, self.labels, self._capacities, self._store)

    def _check_for(self, source, sink, edges) -> None:
        capacities = Capacities(source, sink, edges, None)
        capacities.bound = self._store.bound
        certify(self.value, self.labels, capacities, self._store)

    def _portable(self):
        values = [getattr(self, f.name) for f in fields(self)]
        return type(self), [np.array(value) if isinstance(value, np.memmap) else value for value in values]

    def residual(self, offset: Offset) -> np.ndarray:
        """As `Cut.residual`; the result, one array of the grid's shape, must fit into memory."""
        offset = known_offset(offset, len(self._capacities.given), self._capacities.offsets_given)
        arc = (*offset, 0) if len(offset) == 1 else offset
        bounds = self._store.bounds
        parts = [arc_of(self._store.read(*lines), arc) for lines in zip(bounds[:-1], bounds[1:], strict=True)]
        return np.concatenate(parts).reshape(self._capacities.given)

    def flow(self, offset: Offset) -> np.ndarray:
        """Raises RuntimeError: completing the preflow needs the whole grid in memory."""
        raise RuntimeError(
            "flow() is not available for cuts computed with method='out_of_core', because it needs the whole grid in "
            "memory; use method='ibfs'"
        )


def max_flow_in_blocks(source, sink, edges, mask, callback, *, memory=None, folder=None, labels=None) -> StoredCut:
    """`max_flow` with method="out_of_core".

    memory   memory limit of the solve, in bytes or as a string such as "4 GB"; None: see plan.memory_bytes
    folder   path of the state, from which a killed run resumes; None: a temporary folder
    labels   bool output array of the grid's shape, written by lines, such as a zarr array; None: a file in the folder
    """
    clock = Clock()
    capacities = Capacities(source, sink, edges, mask)
    if 0 in capacities.given:
        return empty_cut(capacities.problem(0, capacities.given[0], as_given=True), "cpu", "out_of_core")
    memory = plan.memory_bytes(memory)
    if not isinstance(folder, str | PathLike | None):
        raise TypeError(f"folder must be the path of a folder or None, got {type(folder).__name__}")
    check_output(labels, capacities.given)
    opened = open_store(capacities, memory, folder)

    def load(bound):
        nonlocal opened
        opened.abandon()
        capacities.bound = bound
        opened = open_store(capacities, memory, folder, fresh=True)
        return opened

    def run(state: Store):
        sweeps = Sweeps(capacities, state, clock, callback)
        sweeps.solve()
        return sweeps, sweeps.stats

    def value(state: Store, sweeps: Sweeps):
        file = labels
        if labels is None:
            file = np.lib.format.open_memmap(state.folder / UNFINISHED, "w+", np.bool_, capacities.given)
        cut = sweeps.write(file)
        if labels is None:
            file.flush()
        if cut.value == math.inf:
            raise ValueError(NOT_FINITE)
        return None, cut.value, cut if capacities.is_float else None

    try:
        if labels is not None or not ("value" in opened.progress and (opened.folder / LABELS).exists()):
            found = solve_exactly(load, run, value, clock, opened)
            opened.commit(value=found.value, stats=found.stats)
            if labels is None:
                (opened.folder / UNFINISHED).replace(opened.folder / LABELS)
    except BaseException:
        opened.abandon()
        raise
    opened.unlock()
    written = np.load(opened.folder / LABELS, mmap_mode="r") if labels is None else labels
    stats = {**opened.progress["stats"], "strips": len(opened.bounds) - 1}
    return StoredCut(opened.progress["value"], written, "cpu", "out_of_core", stats, None, capacities, opened)


def check_output(labels, shape) -> None:
    if labels is None:
        return
    if not (hasattr(labels, "__setitem__") and hasattr(labels, "shape") and hasattr(labels, "dtype")):
        raise TypeError(f"labels must be a writable array, got {type(labels).__name__}")
    if tuple(labels.shape) != shape or labels.dtype != np.bool_:
        raise ValueError(
            f"labels must be bool of the grid's shape {shape}, got {labels.dtype} of {tuple(labels.shape)}"
        )


def open_store(capacities: Capacities, memory: int, folder, fresh: bool = False) -> Store:
    """Check the capacities, and open the store of an earlier run unless `fresh`, or create one."""
    layout = make_layout(capacities.shape, capacities.offsets)
    halo_width = max(offset[0] for offset in layout.offsets)
    largest = capacities.largest(halo_width)
    identity = None
    if folder is not None:
        identity = capacities.digest()
        found = None if fresh else store.reopen(folder, identity)
        if found is not None:
            capacities.bound = found.bound
            return found
    if capacities.is_float:
        dtype = np.dtype(np.int64)
        unit, capacities.bound = choose_unit(largest, capacities.bound)
    else:
        dtype, unit = np.dtype(integer_type(largest)), 1
    each = plan.cell_bytes(layout.arcs, dtype.itemsize, capacities.pixel_bytes)
    try:
        bounds = plan.strips(capacities.shape[0], halo_width, each * layout.stride[0], memory)
    except ValueError as error:
        if memory <= plan.BASE_BYTES or capacities.given[0] == max(capacities.given):
            raise
        raise ValueError(f"{error}, or transpose the arrays so that the longest axis comes first") from None
    return store.create(folder, identity, capacities.shape, layout.offsets, bounds, dtype, unit, capacities.bound)
