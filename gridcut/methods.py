"""The solvers by name, and the rule behind method="auto".

To add one: a file that exports solve(excess, residual, step, ...), a line in METHODS, a row in the README.
"""

import inspect
from functools import cache
from importlib import import_module

import numpy as np

from gridcut.core.grid import make_layout
from gridcut.core.problem import Problem
from gridcut.device import DeviceName, resolve
from gridcut.device.arrays import on_device
from gridcut.out_of_core.plan import available_memory

# name -> device -> module
METHODS = {
    "tiles": {"cuda": "gridcut.tiles.tiles"},
    "ibfs": {"cpu": "gridcut.ibfs.ibfs"},
    "out_of_core": {"cpu": "gridcut.out_of_core.sweeps"},
    "push_relabel": {"cpu": "gridcut.papers.push_relabel"},
    "lock_free": {"cpu": "gridcut.papers.lock_free", "cuda": "gridcut.papers.lock_free_cuda"},
    "async_global": {"cpu": "gridcut.papers.async_global"},
    "hybrid": {"cuda": "gridcut.papers.hybrid"},
    "cudacuts": {"cuda": "gridcut.papers.cudacuts"},
    "cudacuts_pull": {"cuda": "gridcut.papers.cudacuts_pull"},
}


TREES_BYTES = 30  # of a pixel with four neighbours: the least that "ibfs" takes
MAX_OFFSETS = 32  # "ibfs" keeps sets of arcs in the bits of one integer


def default_method(device: str, problem: Problem) -> str:
    """The fastest method measured on this device for this kind of grid; see docs/experiments.md."""
    if device == "cuda":
        return "tiles" if fits_tiles(problem) else "lock_free"
    return "ibfs" if len(problem.edges) <= MAX_OFFSETS else "push_relabel"


def works_on_tiles(method: str) -> bool:
    """Whether a method takes the tiled layout of gridcut/tiles; all others take the flat one."""
    return method == "tiles"


STORED = ("h5py", "netCDF4", "tensorstore", "zarr")  # libraries whose arrays are on disk
BLOCKS = ("memory", "folder", "labels")  # parameters of "out_of_core", which also ask for it


def works_in_blocks(device: DeviceName, method: str, arrays, parameters: dict) -> bool:
    """Whether max_flow is to keep its state on disk; refuses what "out_of_core" does not do.

    So it does where "auto" may choose and an array is read by slices (zarr, h5py) or parameters of "out_of_core" are given,
    or, on a CPU, memory-mapped arrays are more than this machine's free memory can solve at once.
    """
    if method == "auto" and device in ("auto", "cpu"):
        asked = any(name in parameters for name in BLOCKS) or any(map(is_stored, arrays))
        if not asked and not (too_large(arrays) and resolve(device) == "cpu"):
            return False
    elif method != "out_of_core":
        return False
    if device == "cuda":
        raise RuntimeError("method 'out_of_core' does not run on device='cuda'; use device='auto'")
    unknown = [name for name in parameters if name not in BLOCKS]
    if unknown:
        raise TypeError(f"method 'out_of_core' takes {', '.join(BLOCKS)}; got {unknown[0]!r}")
    return True


def is_stored(value) -> bool:
    """Whether an argument is an array on disk, which is read by slices.

    Those of the libraries in STORED, and other types with a shape, a dtype and slices that numpy cannot take as a whole
    (no ``__array__``).  All others, such as those of pandas, xarray, dask and JAX, or PyTorch's on the CPU, are brought
    into memory.
    """
    if isinstance(value, np.ndarray | np.generic | list | tuple) or on_device(value):
        return False
    if not all(hasattr(value, name) for name in ("shape", "dtype", "ndim", "__getitem__")):
        return False
    libraries = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    return not libraries.isdisjoint(STORED) or not hasattr(value, "__array__")


def too_large(arrays) -> bool:
    """Whether memory-mapped arrays are of a grid that a solver has no memory for."""
    mapped = [array for array in arrays if isinstance(array, np.memmap)]
    return any(array.size * TREES_BYTES > available_memory() for array in mapped)


def fits_tiles(problem: Problem) -> bool:
    """Whether all arcs that stay inside the grid lead to direct neighbours."""
    return all(abs(i) <= 1 for offset in make_layout(problem.shape, problem.edges).offsets for i in offset)


def choose(device: DeviceName, method: str, problem: Problem, parameters: dict):
    """The device and the name of the method that will run, and its solve(); refuses what cannot be had."""
    if not isinstance(method, str):
        raise TypeError(f"method must be a name, got {type(method).__name__}")
    if method != "auto" and method not in METHODS:
        known = ", ".join(repr(name) for name in ("auto", *METHODS))
        raise ValueError(f"method must be one of {known}; got {method!r}")
    if method == "out_of_core":
        raise ValueError(
            "method 'out_of_core' is one of max_flow alone: solvers and batches keep their state in memory"
        )
    ran_on = resolve("cuda" if device == "auto" and problem.library else device)
    if method == "auto":
        method = default_method(ran_on, problem)
    elif ran_on not in METHODS[method]:
        if device != "auto":
            raise RuntimeError(f"method {method!r} does not run on device={ran_on!r}; use device='auto'")
        (other,) = METHODS[method]
        ran_on = resolve(other)
    if ran_on == "cpu" and problem.library:
        why = "device='cpu' was asked for" if device == "cpu" else f"method {method!r} runs on the CPU"
        raise TypeError(f"the capacities lie on the GPU, but {why}; copy them to the host first")
    if works_on_tiles(method) and not fits_tiles(problem):
        raise ValueError("method 'tiles' takes arcs to direct neighbours only; use method='auto' or 'lock_free'")
    solve = import_module(METHODS[method][ran_on]).solve
    known = [name for name in _keywords(solve) if name not in CONTEXT]
    unknown = [name for name in parameters if name not in known]
    if unknown:
        takes = ", ".join(known) or "no parameters"
        raise TypeError(f"method {method!r} takes {takes}; got {unknown[0]!r}")
    return ran_on, method, solve


CONTEXT = ("layout", "callback", "warm")  # keywords of a solver that are not parameters of its method


@cache
def _keywords(function) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _context(function, grid, callback) -> dict:
    """What a solver gets beside the grid's arrays, if it asks for it."""
    given = {"layout": grid.layout, "callback": callback}
    return {name: value for name, value in given.items() if name in _keywords(function)}


def run(solve, grid, parameters: dict, callback):
    """Call a solver; a callback it does not know is called once, at the end."""
    context = _context(solve, grid, callback)
    sink_side, stats = solve(grid.excess, grid.residual, grid.step, **context, **parameters)
    if callback is not None and "callback" not in context:
        callback(dict(stats))
    return sink_side, stats


def run_warm(solve, grid, memory, touched, parameters: dict, callback):
    """Call a solver again on its state after changes; the mask of the sink side, stats, and its new memory.

    A module may export solve_warm(excess, residual, step, memory, touched, ...) beside solve(): it returns,
    as a third result, what it wants to be given as `memory` the next time, together with the cells whose
    excess or residuals have been changed since (`touched`, with repetitions; None when it is not known).
    Others start from the flow alone.
    """
    module = import_module(solve.__module__)
    if not hasattr(module, "solve_warm"):
        return *run(solve, grid, parameters, callback), None
    context = _context(module.solve_warm, grid, callback)
    return module.solve_warm(grid.excess, grid.residual, grid.step, memory, touched, **context, **parameters)
