"""The max-flow methods by name, and the rule behind ``method="auto"``.

To add a method: write its solver in a file of its own, and an entry of METHODS.  "Adding an algorithm" in
CONTRIBUTING.md lists the tests and documents that name every method.
"""

from typing import Literal

from gridcut.core.grid import make_layout
from gridcut.core.problem import Problem
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted, check_name
from gridcut.device.choose import Implementation, Method

IBFS_MAX_OFFSETS = 32  # "ibfs" keeps sets of arcs in the bits of one integer


# A solver `solve(grid, callback=None, **parameters)` solves a `Grid` in place.  It returns the sink side, a flat uint8
# array over all cells that is 1 where a pixel can reach the sink and 0 in the padding, and stats, a new dict of
# counters.  "tiles" has another state, see gridcut/tiles/tiles.py.  callback: None, or called between two rounds with a
# copy of the counters; `grid` then holds a valid preflow, and an exception of the callback ends the solve.
METHODS = {
    "tiles": Method(cuda=Implementation("gridcut.tiles.tiles:solve", ("steps_per_pixel", "discharge_ratio"))),
    "ibfs": Method(Implementation("gridcut.ibfs.ibfs:solve")),
    "push_relabel": Method(
        Implementation("gridcut.papers.push_relabel:solve", ("order", "global_every", "gap", "exact_start"))
    ),
    "lock_free": Method(
        Implementation("gridcut.papers.lock_free:solve", ("threads", "global_every")),
        Implementation("gridcut.papers.lock_free_cuda:solve", ("steps", "global_every", "block")),
    ),
    "async_global": Method(Implementation("gridcut.papers.async_global:solve", ("threads", "global_every"))),
    "hybrid": Method(cuda=Implementation("gridcut.papers.hybrid:solve", ("cycle", "block"))),
    "cudacuts": Method(cuda=Implementation("gridcut.papers.cudacuts:solve", ("pushes", "global_every", "block"))),
    "cudacuts_pull": Method(
        cuda=Implementation("gridcut.papers.cudacuts:solve_pull", ("pushes", "global_every", "block"))
    ),
}
# Solvers `solve(grid, memory, touched, callback=None)` that solve again on the CPU after changes.  They return mask,
# stats and the `memory` for the next call.  `touched`: the cells whose excess or residuals have changed since the last
# call, with repetitions; None: unknown.  Other methods start from the flow alone.
WARM = {"ibfs": Implementation("gridcut.ibfs.ibfs:solve_warm")}


def choose(device: DeviceName, method: str, problem: Problem, parameters: dict) -> tuple[Literal["cpu", "cuda"], str]:
    """The device and the name of the method that will run.

    Raises TypeError, ValueError or RuntimeError if they are unknown, unavailable, or cannot solve this problem, and
    TypeError for parameters that the method does not accept.
    """
    check_name("method", method, METHODS)
    ran_on = resolve("cuda" if device == "auto" and problem.library else device)
    other: Literal["cpu", "cuda"] = "cpu" if ran_on == "cuda" else "cuda"
    if method == "auto":
        method = default_method(ran_on, problem)
    elif getattr(METHODS[method], ran_on) is None:
        if device != "auto":
            raise RuntimeError(f"method {method!r} does not run on device={ran_on!r}; use device={other!r}")
        ran_on = resolve(other)
    if ran_on == "cpu" and problem.library:
        why = "device='cpu' was requested" if device == "cpu" else f"method {method!r} runs on the CPU"
        raise TypeError(f"the capacities are on the GPU, but {why}; copy them to the host first")
    if works_on_tiles(method) and not fits_tiles(problem):
        raise ValueError("method 'tiles' accepts arcs to direct neighbours only; use method='auto' or 'lock_free'")
    check_accepted(method, METHODS[method].on(ran_on).parameters, parameters)
    return ran_on, method


def default_method(device: str, problem: Problem) -> str:
    """The fastest method measured on this device for this kind of grid; see benchmarks/notes/grids.md."""
    if device == "cuda":
        return "tiles" if fits_tiles(problem) else "lock_free"
    return "ibfs" if len(problem.edges) <= IBFS_MAX_OFFSETS else "push_relabel"


def works_on_tiles(method: str) -> bool:
    """Whether a method needs the tiled layout of gridcut/tiles; all others need the flat layout."""
    return method == "tiles"


def fits_tiles(problem: Problem) -> bool:
    """Whether all arcs that stay inside the grid lead to direct neighbours."""
    return all(abs(i) <= 1 for offset in make_layout(problem.shape, problem.edges).offsets for i in offset)
