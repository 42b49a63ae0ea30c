"""The max-flow methods by name, and the rule behind ``method="auto"``.

To add a method: write its solver in a file of its own, a function here that imports it, and an entry of METHODS.  The
function consists of ``from MODULE import solve`` and its return, by which tests/repository/test_readme.py finds the
file.  "Adding an algorithm" in CONTRIBUTING.md lists the tests and documents that name every method.

Solvers are imported when they are needed, so that importing gridcut imports neither kernels nor numba.cuda.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from gridcut.core.grid import make_layout
from gridcut.core.problem import Problem
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted, check_name

IBFS_MAX_OFFSETS = 32  # "ibfs" keeps sets of arcs in the bits of one integer


class Method(NamedTuple):
    """One max-flow method: a function per device that imports its solver, None if there is none, and its parameters.

    cpu, cuda         the solver: ``solve(grid, callback=None, **parameters)`` solves a `Grid` in place; returns the
                      sink side, a flat uint8 array over all cells that is 1 where a pixel can reach the sink and 0 in
                      the padding, and stats, a new dict of counters.  "tiles" has another state, see
                      gridcut/tiles/tiles.py
    callback          None, or called between two rounds with a copy of the counters; `grid` then holds a valid
                      preflow, and an exception of the callback ends the solve
    warm              the solver ``solve(grid, memory, touched, callback=None)`` solves again on the CPU after changes;
                      returns mask, stats and the `memory` for the next call.  `touched`: the cells whose excess or
                      residuals have changed since the last call, with repetitions; None: unknown.  Methods without
                      `warm` start from the flow alone
    cpu_parameters    names of the parameters that `cpu` accepts;  cuda_parameters: those of `cuda`
    """

    cpu: Callable | None = None
    cuda: Callable | None = None
    warm: Callable | None = None
    cpu_parameters: tuple[str, ...] = ()
    cuda_parameters: tuple[str, ...] = ()


def _tiles():
    from gridcut.tiles.tiles import solve

    return solve


def _ibfs():
    from gridcut.ibfs.ibfs import solve

    return solve


def _ibfs_warm():
    from gridcut.ibfs.ibfs import solve_warm

    return solve_warm


def _push_relabel():
    from gridcut.papers.push_relabel import solve

    return solve


def _lock_free():
    from gridcut.papers.lock_free import solve

    return solve


def _lock_free_cuda():
    from gridcut.papers.lock_free_cuda import solve

    return solve


def _async_global():
    from gridcut.papers.async_global import solve

    return solve


def _hybrid():
    from gridcut.papers.hybrid import solve

    return solve


def _cudacuts():
    from gridcut.papers.cudacuts import solve

    return solve


def _cudacuts_pull():
    from gridcut.papers.cudacuts_pull import solve

    return solve


METHODS = {
    "tiles": Method(cuda=_tiles, cuda_parameters=("steps_per_pixel", "discharge_ratio")),
    "ibfs": Method(cpu=_ibfs, warm=_ibfs_warm),
    "push_relabel": Method(cpu=_push_relabel, cpu_parameters=("order", "global_every", "gap", "exact_start")),
    "lock_free": Method(
        cpu=_lock_free,
        cuda=_lock_free_cuda,
        cpu_parameters=("threads", "global_every"),
        cuda_parameters=("steps", "global_every", "block"),
    ),
    "async_global": Method(cpu=_async_global, cpu_parameters=("threads", "global_every")),
    "hybrid": Method(cuda=_hybrid, cuda_parameters=("cycle", "block")),
    "cudacuts": Method(cuda=_cudacuts, cuda_parameters=("pushes", "global_every", "block")),
    "cudacuts_pull": Method(cuda=_cudacuts_pull, cuda_parameters=("pushes", "global_every", "block")),
}


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
    entry = METHODS[method]
    check_accepted(method, entry.cpu_parameters if ran_on == "cpu" else entry.cuda_parameters, parameters)
    return ran_on, method


def default_method(device: str, problem: Problem) -> str:
    """The fastest method measured on this device for this kind of grid; see docs/notes/experiments.md."""
    if device == "cuda":
        return "tiles" if fits_tiles(problem) else "lock_free"
    return "ibfs" if len(problem.edges) <= IBFS_MAX_OFFSETS else "push_relabel"


def solver(device: Literal["cpu", "cuda"], method: str) -> Callable:
    """The solver of a method on a device; `choose` has checked that there is one."""
    entry = METHODS[method]
    found = entry.cpu if device == "cpu" else entry.cuda
    assert found is not None
    return found()


def works_on_tiles(method: str) -> bool:
    """Whether a method needs the tiled layout of gridcut/tiles; all others need the flat layout."""
    return method == "tiles"


def fits_tiles(problem: Problem) -> bool:
    """Whether all arcs that stay inside the grid lead to direct neighbours."""
    return all(abs(i) <= 1 for offset in make_layout(problem.shape, problem.edges).offsets for i in offset)
