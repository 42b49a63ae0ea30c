"""The solvers by name, and the rule behind method="auto".

To add one: a file that exports solve(cost, ...) for dense costs or solve_sparse(indptr, indices, cost, m, ...) for
sparse ones, or both; a line in METHODS, a row in the README.  Beside them, where it is so:

    MULTIPLIES = True    costs are multiplied by the number of nodes, and have to be that much smaller
    ON_DEVICE = True     takes costs on the GPU, and returns arrays there
"""

import inspect
from functools import cache
from importlib import import_module

from assign.core.problem import Problem
from gridcut.device import DeviceName, resolve

# name -> form of the costs -> device -> module
METHODS = {
    "shortest_paths": {"dense": {"cpu": "assign.dense.dense"}, "sparse": {"cpu": "assign.sparse.sparse"}},
    "auction": {"dense": {"cuda": "assign.dense.dense_cuda"}},
    **{
        name: {"dense": {"cpu": f"assign.papers.{name}"}, "sparse": {"cpu": f"assign.papers.{name}"}}
        for name in ("cost_scaling", "cost_scaling_v1", "cost_scaling_v2")
    },
    "lock_free": {
        "dense": {"cpu": "assign.papers.lock_free", "cuda": "assign.papers.lock_free_cuda"},
        "sparse": {"cpu": "assign.papers.lock_free", "cuda": "assign.papers.lock_free_cuda"},
    },
}
# What method="auto" runs: the fastest measured; see docs/assign.md.
DEFAULTS = {
    ("dense", "cpu"): "shortest_paths",
    ("dense", "cuda"): "auction",
    ("sparse", "cpu"): "shortest_paths",
}
# Rows of a matrix on the host from which device="auto" takes a GPU.  Timed on an H200 with copies: geometric costs are
# solved sooner there from 500 rows on and 5 times sooner at 4000, uniform ones from 2000 on; tracking never.
GPU_MIN_ROWS = 2000
CONTEXT = ("limit", "start", "callback")  # keywords of a solver that are not parameters of its method


def choose(device: DeviceName, method: str, problem: Problem, parameters: dict):
    """The device, the method, its module and its function; refuses what cannot be had."""
    if not isinstance(method, str):
        raise TypeError(f"method must be a name, got {type(method).__name__}")
    if method != "auto" and method not in METHODS:
        known = ", ".join(repr(name) for name in ("auto", *METHODS))
        raise ValueError(f"method must be one of {known}; got {method!r}")
    form = problem.costs.form
    able = {name: modules[form] for name, modules in METHODS.items() if form in modules}
    ran_on = resolve(device)
    if method == "auto":
        if device == "auto" and not problem.library and not _worth_a_gpu(problem):
            ran_on = "cpu"
        method = DEFAULTS.get((form, ran_on))
        if method is None:
            if device == "cuda":
                raise RuntimeError("device='cuda' has no default for sparse costs; use device='auto' or 'cpu'")
            ran_on, method = "cpu", DEFAULTS[form, "cpu"]
    elif method not in able:
        others = ", ".join(repr(name) for name in able)
        raise ValueError(f"method {method!r} does not take {form} costs; there are {others}")
    elif ran_on not in able[method]:
        if device != "auto":
            raise RuntimeError(f"method {method!r} does not run on device={ran_on!r}; use device='auto'")
        (other,) = able[method]
        ran_on = resolve(other)
    if ran_on == "cpu" and problem.library:
        why = "device='cpu' was asked for" if device == "cpu" else f"method {method!r} runs on the CPU"
        raise TypeError(f"cost lies on the GPU, but {why}; copy it to the host first")
    module = import_module(able[method][ran_on])
    solve = module.solve if form == "dense" else getattr(module, "solve_sparse", None) or module.solve
    known = [name for name in _keywords(solve) if name not in CONTEXT]
    unknown = [name for name in parameters if name not in known]
    if unknown:
        takes = ", ".join(known) or "no parameters"
        raise TypeError(f"method {method!r} takes {takes}; got {unknown[0]!r}")
    return ran_on, method, module, solve


def _worth_a_gpu(problem: Problem) -> bool:
    return problem.costs.form == "dense" and problem.costs.shape[0] >= GPU_MIN_ROWS


@cache
def _keywords(function) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def run(solve, problem: Problem, start, parameters: dict, callback):
    """Call a solver; a callback it does not know is called once, at the end."""
    given = {"limit": problem.limit, "start": start, "callback": callback}
    context = {name: value for name, value in given.items() if name in _keywords(solve)}
    costs = problem.costs
    arrays = (costs.cost,) if costs.form == "dense" else (costs.indptr, costs.indices, costs.cost, costs.shape[1])
    col_of_row, u, v, stats = solve(*arrays, **context, **parameters)
    if callback is not None and "callback" not in context:
        callback(dict(stats))
    return col_of_row, u, v, stats
