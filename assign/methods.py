"""Methods of `assign.solve` and `min_cost_flow`: the tables of their solvers, and the rules that select one.

To add a method: write its solver, an entry in METHODS, and a row in docs/algorithms/index.md.
"""

from collections.abc import Callable
from typing import NamedTuple

from assign.core.problem import Dense, Problem, Sparse
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted, check_name
from gridcut.device.choose import Implementation

# Rows of a matrix on the host from which device="auto" uses a GPU.  The CPU starts on square ones and hands over those
# that a GPU solves faster, transfers included (2000 and 4000 rows; one H100, 16 cores): geometric 3 to 5 times,
# fixed-charge 4 and 5, two-cost 2 and 3, low rank 4.  It keeps the others, which take longer on a GPU: uniform costs
# 1.0 to 1.4 times, tracks 2, those that sorting solves 6.
GPU_MIN_ROWS = 2000


class Method(NamedTuple):
    """One named method; None where it is not available.

    ``solver(*arrays, limit=..., start=..., callback=..., **parameters)`` returns col_of_row, u, v and stats.

    scales_costs  costs are multiplied by the number of nodes, so integers must be smaller by that factor; these methods
                  read a dense matrix as they read a sparse one, see `arrays_of`
    """

    dense_cpu: Implementation | None = None
    dense_cuda: Implementation | None = None
    sparse_cpu: Implementation | None = None
    sparse_cuda: Implementation | None = None
    scales_costs: bool = False

    def find(self, form: str, device: str) -> Implementation | None:
        """The implementation for dense or sparse costs on "cpu" or "cuda"."""
        if form == "dense":
            return self.dense_cpu if device == "cpu" else self.dense_cuda
        return self.sparse_cpu if device == "cpu" else self.sparse_cuda

    def arrays_of(self, costs: Dense | Sparse) -> tuple:
        """What solvers read: a matrix, or indptr, indices and cost of the finite costs, and the number of columns."""
        if isinstance(costs, Sparse):
            return costs.indptr, costs.indices, costs.cost, costs.shape[1]
        if not self.scales_costs:
            return (costs.cost,)
        from assign.papers.scaling.network import rows_of_dense

        return *rows_of_dense(costs.cost), costs.shape[1]


def _scaling(solver: str) -> Method:
    """One of the sequential cost-scaling methods."""
    found = Implementation(solver, ("alpha", "price_updates", "arc_fixing", "update_every", "max_updates"))
    return Method(dense_cpu=found, sparse_cpu=found, scales_costs=True)


LOCK_FREE_CPU = Implementation(
    "assign.papers.lock_free:solve", ("threads", "alpha", "cycle", "price_updates", "arc_fixing")
)
LOCK_FREE_CUDA = Implementation(
    "assign.papers.lock_free_cuda:solve", ("alpha", "cycle", "block", "price_updates", "arc_fixing")
)

METHODS = {
    "shortest_paths": Method(
        dense_cpu=Implementation("assign.dense.dense:solve", ("list_length", "auction", "coarse_start")),
        sparse_cpu=Implementation("assign.sparse.sparse:solve", ("alpha", "fine")),
    ),
    "jonker_volgenant": Method(dense_cpu=Implementation("assign.batch.batch:solve_one")),
    "auction": Method(
        dense_cuda=Implementation(
            "assign.dense.dense_cuda:solve", ("first_eps", "last_eps", "alpha", "stop_share", "timeout", "threads")
        )
    ),
    "cost_scaling": _scaling("assign.papers.cost_scaling:solve"),
    "cost_scaling_v1": _scaling("assign.papers.cost_scaling_v1:solve"),
    "cost_scaling_v2": _scaling("assign.papers.cost_scaling_v2:solve"),
    "lock_free": Method(LOCK_FREE_CPU, LOCK_FREE_CUDA, LOCK_FREE_CPU, LOCK_FREE_CUDA, scales_costs=True),
}
ON_GPU = ("auction",)  # methods that read costs on the GPU, and return arrays there


class Choice(NamedTuple):
    """What runs: device, name of the method, its entry of METHODS, and the implementation in that."""

    device: str
    name: str
    method: Method
    implementation: Implementation
    cpu_first: bool = False  # CPU_FIRST runs first, which may raise HandedOver

    @property
    def stays_on_device(self) -> bool:
        """Whether costs are read, and arrays returned, on the GPU."""
        return self.name in ON_GPU

    def solve(self, costs: Dense | Sparse, limit, start, callback, **parameters) -> tuple:
        """col_of_row, u, v, stats."""
        if self is CPU_FIRST:
            parameters = {"auction": "elsewhere"}
        arrays = self.method.arrays_of(costs)
        return self.implementation.function(*arrays, limit=limit, start=start, callback=callback, **parameters)


CPU_FIRST = Choice("cpu", "shortest_paths", METHODS["shortest_paths"], METHODS["shortest_paths"].find("dense", "cpu"))


def choose(device: DeviceName, method: str, problem: Problem, parameters: dict) -> Choice:
    """Select device and method, and check the method's parameters."""
    check_name("method", method, METHODS)
    cpu_first = False
    if method == "auto":
        ran_on, method = _default(device, problem)
        cpu_first = device == "auto" and ran_on == "cuda" and not parameters and _is_square_on_host(problem)
    else:
        ran_on = _device_of(method, device, problem.costs.form)
    if problem.library and ran_on == "cpu":
        why = "device='cpu' was requested" if device == "cpu" else f"method {method!r} runs on the CPU"
        raise TypeError(f"cost is on the GPU, but {why}; copy it to the host first")
    entry = METHODS[method]
    found = entry.find(problem.costs.form, ran_on)
    check_accepted(method, found.parameters, parameters)
    return Choice(ran_on, method, entry, found, cpu_first)


def _is_square_on_host(problem: Problem) -> bool:
    n, m = problem.costs.shape
    return not problem.library and n == m and problem.limit is None


def is_dense_only(method) -> bool:
    """Whether this is the name of a method that does not support sparse costs."""
    entry = METHODS.get(method) if isinstance(method, str) else None
    return entry is not None and entry.sparse_cpu is None and entry.sparse_cuda is None


def _default(device: DeviceName, problem: Problem) -> tuple[str, str]:
    """Device and method of method="auto" for what assign/direct.py has left; see docs/algorithms/assign.md."""
    costs = problem.costs
    if device == "auto" and not problem.library and (costs.form == "sparse" or costs.shape[0] < GPU_MIN_ROWS):
        return "cpu", "shortest_paths"
    ran_on = resolve(device)
    if ran_on == "cpu":
        return "cpu", "shortest_paths"
    if costs.form == "sparse":
        raise RuntimeError("device='cuda' has no default for sparse costs; use device='auto' or 'cpu'")
    return "cuda", "auction"


def _device_of(method: str, device: DeviceName, form: str) -> str:
    """The device on which a named method runs: the requested one, or with "auto" one that it supports."""
    entry = METHODS[method]
    ran_on = resolve(device)
    if entry.find(form, ran_on) is not None:
        return ran_on
    other = "cpu" if ran_on == "cuda" else "cuda"
    if entry.find(form, other) is None:
        able = (name for name, m in METHODS.items() if m.find(form, "cpu") or m.find(form, "cuda"))
        raise ValueError(f"method {method!r} does not support {form} costs; these do: {', '.join(map(repr, able))}")
    if device != "auto":
        raise RuntimeError(f"method {method!r} does not run on device={ran_on!r}; use device='auto'")
    return resolve(other)


FLOW_METHODS = {
    "network_simplex": Implementation("assign.flow.network_simplex:solve", ("start",)),
    "cost_scaling": Implementation("assign.papers.cost_scaling_flow:solve"),
}


def choose_flow_method(method: str) -> tuple[str, Callable]:
    """The name and the solver of a method of `assign.min_cost_flow`."""
    check_name("method", method, FLOW_METHODS)
    if method == "auto":
        method = "network_simplex"
    return method, FLOW_METHODS[method].function
