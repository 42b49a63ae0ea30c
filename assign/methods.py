"""Methods of `assign.solve` and `min_cost_flow`: the tables of their solvers, and the rules that select one.

To add a method: write its solver, a function here that calls it, an entry in METHODS, and a row in
docs/algorithms/index.md.
Solvers are imported when they are called, so that importing this file is cheap.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from assign.core.problem import Dense, Problem, Sparse
from gridcut.device import DeviceName, resolve
from gridcut.device.arguments import check_accepted, check_name

# Rows of a matrix on the host from which device="auto" uses a GPU.  The CPU starts on square ones and hands over those
# that a GPU solves faster, transfers included (2000 and 4000 rows; one H100, 16 cores): geometric 3 to 5 times,
# fixed-charge 4 and 5, two-cost 2 and 3, low rank 4.  It keeps the others, which take longer on a GPU: uniform costs
# 1.0 to 1.4 times, tracks 2, those that sorting solves 6.
GPU_MIN_ROWS = 2000


class Implementation(NamedTuple):
    """A method on one device, for one form of costs.

    solve            solve(costs, limit, start, callback, **parameters) -> col_of_row, u, v, stats
    parameters       the keywords that `solve` accepts in addition
    stays_on_device  reads costs on the GPU, and returns arrays on the GPU
    """

    solve: Callable
    parameters: tuple[str, ...] = ()
    stays_on_device: bool = False


class Method(NamedTuple):
    """One named method; None where it is not available.

    scales_costs  costs are multiplied by the number of nodes, so integers must be smaller by that factor
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


def shortest_paths_dense(costs: Dense, limit, start, callback, **parameters):
    """See assign/dense/dense.py."""
    from assign.dense.dense import solve

    return solve(costs.cost, limit=limit, start=start, callback=callback, **parameters)


def jonker_volgenant(costs: Dense, limit, start, callback, **parameters):
    """See assign/dense/jonker_volgenant.py."""
    from assign.dense.jonker_volgenant import solve

    return solve(costs.cost, limit=limit, start=start, callback=callback, **parameters)


def shortest_paths_sparse(costs: Sparse, limit, start, callback, **parameters):
    """See assign/sparse/sparse.py."""
    from assign.sparse.sparse import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def auction_cuda(costs: Dense, limit, start, callback, **parameters):
    """See assign/dense/dense_cuda.py."""
    from assign.dense.dense_cuda import solve

    return solve(costs.cost, limit=limit, start=start, callback=callback, **parameters)


def cost_scaling(costs: Dense | Sparse, limit, start, callback, **parameters):
    """See assign/papers/cost_scaling.py."""
    from assign.papers.cost_scaling import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def cost_scaling_v1(costs: Dense | Sparse, limit, start, callback, **parameters):
    """See assign/papers/cost_scaling_v1.py."""
    from assign.papers.cost_scaling_v1 import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def cost_scaling_v2(costs: Dense | Sparse, limit, start, callback, **parameters):
    """See assign/papers/cost_scaling_v2.py."""
    from assign.papers.cost_scaling_v2 import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def lock_free(costs: Dense | Sparse, limit, start, callback, **parameters):
    """See assign/papers/lock_free.py."""
    from assign.papers.lock_free import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def lock_free_cuda(costs: Dense | Sparse, limit, start, callback, **parameters):
    """See assign/papers/lock_free_cuda.py."""
    from assign.papers.lock_free_cuda import solve

    return solve(*compressed(costs), limit=limit, start=start, callback=callback, **parameters)


def compressed(costs: Dense | Sparse) -> tuple:
    """indptr, indices, cost and the number of columns, without the infinite costs of a dense matrix."""
    if isinstance(costs, Sparse):
        return costs.indptr, costs.indices, costs.cost, costs.shape[1]
    from assign.papers.scaling.load import rows_of_dense

    return *rows_of_dense(costs.cost), costs.shape[1]


def _scaling(solve) -> Method:
    """One of the sequential cost-scaling methods."""
    found = Implementation(solve, ("alpha", "price_updates", "arc_fixing", "update_every", "max_updates"))
    return Method(dense_cpu=found, sparse_cpu=found, scales_costs=True)


LOCK_FREE_CPU = Implementation(lock_free, ("threads", "alpha", "cycle", "price_updates", "arc_fixing"))
LOCK_FREE_CUDA = Implementation(lock_free_cuda, ("alpha", "cycle", "block", "price_updates", "arc_fixing"))

METHODS = {
    "shortest_paths": Method(
        dense_cpu=Implementation(shortest_paths_dense, ("list_length", "auction", "coarse_start")),
        sparse_cpu=Implementation(shortest_paths_sparse, ("alpha", "fine")),
    ),
    "jonker_volgenant": Method(dense_cpu=Implementation(jonker_volgenant)),
    "auction": Method(
        dense_cuda=Implementation(
            auction_cuda, ("first_eps", "last_eps", "alpha", "stop_share", "timeout", "threads"), stays_on_device=True
        )
    ),
    "cost_scaling": _scaling(cost_scaling),
    "cost_scaling_v1": _scaling(cost_scaling_v1),
    "cost_scaling_v2": _scaling(cost_scaling_v2),
    "lock_free": Method(LOCK_FREE_CPU, LOCK_FREE_CUDA, LOCK_FREE_CPU, LOCK_FREE_CUDA, scales_costs=True),
}


class Choice(NamedTuple):
    """What runs: device, name of the method, and the entries of METHODS."""

    device: str
    name: str
    method: Method
    implementation: Implementation
    cpu_first: bool = False  # CPU_FIRST runs first, which may raise HandedOver


CPU_FIRST = Choice(
    "cpu",
    "shortest_paths",
    METHODS["shortest_paths"],
    Implementation(partial(shortest_paths_dense, auction="elsewhere")),
)


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
    """Device and method of method="auto", the fastest measured; see docs/algorithms/assign.md."""
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


def network_simplex(network, start=None):
    """See assign/flow/network_simplex.py."""
    from assign.flow.network_simplex import solve

    return solve(network, start)


def cost_scaling_flow(network):
    """See assign/papers/cost_scaling_flow.py."""
    from assign.papers.cost_scaling_flow import solve

    return solve(network)


FLOW_METHODS: dict[str, Callable] = {"network_simplex": network_simplex, "cost_scaling": cost_scaling_flow}


def choose_flow_method(method: str) -> tuple[str, Callable]:
    """The name and the solver of a method of `assign.min_cost_flow`."""
    check_name("method", method, FLOW_METHODS)
    if method == "auto":
        method = "network_simplex"
    return method, FLOW_METHODS[method]
