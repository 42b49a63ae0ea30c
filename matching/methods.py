"""The maximum matching methods and the initial matchings by name, and the choices of "auto".

To add a method, write a file that exports solve(graph, row_match, col_match, *, ...) -> stats, which turns a valid
matching into a maximum one in place.  Then add a function and an entry of METHODS here, a row in
docs/algorithms/index.md, and a check in parameters.py for each parameter with a new name.  An initial matching exports
initialise(...) instead, which keeps the given pairs and adds to them.

Functions below whose names end in _cpu accept a graph and a matching on the host, those in _cuda a `DeviceGraph` and a
matching on the GPU.  `for_host` makes the latter accept a graph on the host.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from gridcut.device import DeviceName
from gridcut.device.arguments import check_name
from matching.core.dispatch import Method, device_for, keywords_for
from matching.core.parameters import check_threads


class InitialMatching(NamedTuple):
    """Functions of an initial matching, None for a device on which it does not run; the parameters of `cpu`."""

    cpu: Callable[..., dict] | None = None
    cuda: Callable[..., dict] | None = None
    parameters: tuple[str, ...] = ()


def portfolio_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.portfolio.portfolio import solve

    return solve(graph, row_match, col_match, **parameters)


def portfolio_cuda(graph, row_match, col_match) -> dict:
    from matching.portfolio.portfolio_cuda import solve

    return solve(graph, row_match, col_match)


def ss_bfs_cpu(graph, row_match, col_match) -> dict:
    from matching.papers.ss_bfs import solve

    return solve(graph, row_match, col_match)


def ss_dfs_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.ss_dfs import solve

    return solve(graph, row_match, col_match, **parameters)


def pothen_fan_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.pothen_fan import solve

    return solve(graph, row_match, col_match, **parameters)


def hopcroft_karp_cpu(graph, row_match, col_match) -> dict:
    from matching.papers.hopcroft_karp import solve

    return solve(graph, row_match, col_match)


def hkdw_cpu(graph, row_match, col_match) -> dict:
    from matching.papers.hkdw import solve

    return solve(graph, row_match, col_match)


def push_relabel_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.push_relabel import solve

    return solve(graph, row_match, col_match, **parameters)


def ms_bfs_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.ms_bfs import solve

    return solve(graph, row_match, col_match, **parameters)


def ms_bfs_graft_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.ms_bfs_graft import solve

    return solve(graph, row_match, col_match, **parameters)


def ms_bfs_graft_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.forest.ms_bfs_graft_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def p_dbfs_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.p_dbfs import solve

    return solve(graph, row_match, col_match, **parameters)


def p_pf_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.p_pf import solve

    return solve(graph, row_match, col_match, **parameters)


def p_hk_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.p_hk import solve

    return solve(graph, row_match, col_match, **parameters)


def apfb_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.apfb_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def apsb_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.apsb_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def g_pr_first_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.g_pr_first_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def g_pr_noshr_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.g_pr_noshr_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def g_pr_shr_cuda(graph, row_match, col_match, **parameters) -> dict:
    from matching.papers.g_pr_shr_cuda import solve

    return solve(graph, row_match, col_match, **parameters)


def cheap_cpu(graph, row_match, col_match) -> dict:
    from matching.initial.cheap import initialise

    return initialise(graph, row_match, col_match)


def cheap_cuda(graph, row_match, col_match) -> dict:
    from matching.initial.cheap_cuda import initialise

    return initialise(graph, row_match, col_match)


def karp_sipser_cpu(graph, row_match, col_match, **parameters) -> dict:
    from matching.initial.karp_sipser import initialise

    return initialise(graph, row_match, col_match, **parameters)


def karp_sipser_one_sided_cpu(graph, row_match, col_match) -> dict:
    from matching.initial.karp_sipser_one_sided import initialise

    return initialise(graph, row_match, col_match)


METHODS = {
    "portfolio": Method(cpu=portfolio_cpu, cuda=portfolio_cuda, parameters=("threads",)),
    "ss_bfs": Method(cpu=ss_bfs_cpu),
    "ss_dfs": Method(cpu=ss_dfs_cpu, parameters=("lookahead",)),
    "pothen_fan": Method(cpu=pothen_fan_cpu, parameters=("fairness", "lookahead")),
    "hopcroft_karp": Method(cpu=hopcroft_karp_cpu),
    "hkdw": Method(cpu=hkdw_cpu),
    "push_relabel": Method(cpu=push_relabel_cpu, parameters=("frequency", "gap", "order")),
    "ms_bfs": Method(
        cpu=ms_bfs_cpu, parameters=("direction_optimising", "alpha", "side", "threads", "wide", "by_step")
    ),
    "ms_bfs_graft": Method(
        cpu=ms_bfs_graft_cpu,
        cuda=ms_bfs_graft_cuda,
        parameters=("grafting", "direction_optimising", "alpha", "side", "threads", "wide", "by_step"),
        cuda_parameters=("grafting", "direction_optimising", "alpha", "block_levels"),
    ),
    "p_dbfs": Method(cpu=p_dbfs_cpu, parameters=("threads",)),
    "p_pf": Method(cpu=p_pf_cpu, parameters=("fairness", "threads")),
    "p_hk": Method(cpu=p_hk_cpu, parameters=("threads", "wide")),
    "apfb": Method(cuda=apfb_cuda, cuda_parameters=("search", "grid")),
    "apsb": Method(cuda=apsb_cuda, cuda_parameters=("search", "grid")),
    "g_pr_first": Method(cuda=g_pr_first_cuda, cuda_parameters=("relabel",)),
    "g_pr_noshr": Method(cuda=g_pr_noshr_cuda, cuda_parameters=("relabel",)),
    "g_pr_shr": Method(cuda=g_pr_shr_cuda, cuda_parameters=("relabel", "shrink_from")),
}

INITS = {
    "none": InitialMatching(),
    "cheap": InitialMatching(cpu=cheap_cpu, cuda=cheap_cuda),
    "karp_sipser": InitialMatching(cpu=karp_sipser_cpu, parameters=("threads",)),
    "karp_sipser_one_sided": InitialMatching(cpu=karp_sipser_one_sided_cpu),
}

# The method of method="auto".  It computes its own initial matching.
DEFAULT_METHOD = "portfolio"
# The initial matching of init="auto" before any other method, by device; on CUDA that of the papers.
DEFAULT_INITS = {"cpu": "karp_sipser", "cuda": "cheap"}
# Edges of a graph on the host from which method="auto" uses a GPU if device="auto" finds one, transfers included.
# On 36 graphs of 2^15 to 2^21 edges this rule takes 1.30 times the time of the faster device in geometric mean (one
# H200, 32 cores).  2^17 would take 1.25 times, but 5.8 instead of 4.8 times on the worst graph, points in raster order
# that the CPU matches in a millisecond.  Table: benchmarks/results/matching-cuda-auto.md.
GPU_MIN_EDGES = 1 << 18


def choose(method: str, init: str, device: DeviceName, threads: int | None, parameters: dict):
    """(device, method, init, keywords of the method) with "auto" replaced; raises an error if they do not fit."""
    if parameters or threads is not None or not type(method) is type(init) is type(device) is str:
        return _choose(method, init, device, threads, parameters)
    return _choose_names(method, init, device)


@cache
def _choose_names(method: str, init: str, device: str):
    """The usual call.  For a small graph, choosing without a cache takes as long as matching."""
    return _choose(method, init, device, None, {})


def _choose(method, init, device, threads, parameters):
    check_name("method", method, METHODS)
    check_name("init", init, INITS)
    threads = check_threads(threads)
    if method == "auto":
        if parameters:
            given = next(iter(parameters))
            raise TypeError(f"method 'auto' accepts no parameters, got {given!r}; select a method by name")
        method = DEFAULT_METHOD
    entry = METHODS[method]
    device = device_for(method, entry, device)
    if init == "auto":
        init = default_init(method, device)
    return device, method, init, keywords_for(method, entry, device, parameters, threads=threads)


def default_init(method: str, device: str) -> str:
    """The initial matching of init="auto"."""
    return "none" if method == DEFAULT_METHOD else DEFAULT_INITS[device]


def for_host(function: Callable[..., dict]) -> Callable[..., dict]:
    """A function of a graph and a matching on the GPU, for a graph and a matching on the host."""
    from matching.core.problem_cuda import on_gpu

    return partial(on_gpu, function)


def solver(method: str, device: str) -> Callable[..., dict]:
    """The function of a method for a graph on the host."""
    entry = METHODS[method]
    return for_host(entry.cuda) if device == "cuda" else entry.cpu


def initialiser(init: str, device: str, threads: int | None = 1) -> Callable[..., dict] | None:
    """The function of an initial matching for a graph on the host, by default that of the CPU; None for "none".

    threads   number of threads, if it is parallel; None: numba's
    """
    entry = INITS[init]
    if device == "cuda" and entry.cuda:
        return for_host(entry.cuda)
    return partial(entry.cpu, threads=threads) if "threads" in entry.parameters and threads != 1 else entry.cpu
