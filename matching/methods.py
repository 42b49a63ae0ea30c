"""The solvers and the initial matchings by name, and what "auto" stands for.

To add a solver: a file that exports solve(graph, row_match, col_match, *, ...) -> stats, which changes a legal
matching in place into a maximum one; to add an initial matching: one that exports initialise(...) likewise, which
leaves the pairs it is given and adds to them.  Then a line here, a row in the README, and one in parameters.py for
each parameter with a new name.

Keywords of a solver are its parameters; the one named `threads` is filled from that of `matching.maximum`.
"""

import inspect
from functools import cache
from importlib import import_module

from gridcut.device import DeviceName, resolve
from matching.core.parameters import check_threads, checked

# name -> device -> module
METHODS = {"portfolio": {"cpu": "matching.portfolio.portfolio"}} | {
    name: {"cpu": f"matching.papers.{name}"}
    for name in (
        "ss_bfs",
        "ss_dfs",
        "pothen_fan",
        "hopcroft_karp",
        "hkdw",
        "push_relabel",
        "ms_bfs",
        "ms_bfs_graft",
        "p_dbfs",
        "p_pf",
        "p_hk",
    )
}
METHODS["portfolio"]["cuda"] = "matching.portfolio.portfolio_cuda"
for name in ("ms_bfs_graft", "apfb", "apsb", "g_pr_first", "g_pr_noshr", "g_pr_shr"):
    METHODS.setdefault(name, {})["cuda"] = f"matching.papers.{name}_cuda"
# The same; on a device that has none of its own, the CPU's is taken.
INITS = {"none": {}} | {
    name: {"cpu": f"matching.initial.{name}"} for name in ("cheap", "karp_sipser", "karp_sipser_one_sided")
}
for name in ("cheap", "karp_sipser"):
    INITS[name]["cuda"] = f"matching.initial.{name}_cuda"

# What method="auto" takes, and the initial matching before it.  It has its own.
DEFAULT, ITS_INIT = "portfolio", "none"
# Edges on the host from which method="auto" takes a GPU where device="auto" finds one, the way there and back included.
# On six families of 2^16 to 2^24 edges the rule costs 1.18 times the time of the faster device in geometric mean, one
# H200 and 16 cores beside it.  2^17 would cost 1.15 times, but 5.7 instead of 4.6 times on the worst graph, a scan of
# points that the CPU matches in a millisecond.  Table: benchmarks/results/matching-cuda-auto.md.
GPU_MIN_EDGES = 1 << 18
# What init="auto" runs before a method asked for by name; on CUDA that of the papers.
DEFAULT_INIT = {"cpu": "karp_sipser", "cuda": "cheap"}


def choose(method: str, init: str, device: DeviceName, threads, parameters: dict):
    """(device, method, init, keywords) of what can be had; the rest is refused.  threads=None stays as it is."""
    if parameters or threads is not None or not type(method) is type(init) is type(device) is str:
        return _choose(method, init, device, threads, parameters)
    return _choose_names(method, init, device)


@cache
def _choose_names(method: str, init: str, device: str):
    """The usual call, which for a small graph takes as long as to solve it."""
    return _choose(method, init, device, None, {})


def _choose(method, init, device, threads, parameters):
    _check_name("method", method, METHODS)
    _check_name("init", init, INITS)
    threads = check_threads(threads)
    if method == "auto":
        if parameters:
            raise TypeError(f"method 'auto' takes no parameters, got {next(iter(parameters))!r}; name a method")
        method = DEFAULT
    if device == "auto":  # a GPU only by request, or if the method has nothing else
        device = "cpu" if "cpu" in METHODS[method] else "cuda"
    ran_on = resolve(device)
    if ran_on not in METHODS[method]:
        raise RuntimeError(f"method {method!r} does not run on device={ran_on!r}; use {next(iter(METHODS[method]))!r}")
    if init == "auto":
        init = ITS_INIT if method == DEFAULT else DEFAULT_INIT[ran_on]
    known = _keywords(method, ran_on)
    if unknown := [name for name in parameters if name not in known or name == "threads"]:
        takes = ", ".join(name for name in known if name != "threads") or "no parameters"
        raise TypeError(f"method {method!r} takes {takes}; got {unknown[0]!r}")
    parameters = checked(parameters)
    if "threads" in known:
        parameters = {**parameters, "threads": threads}
    return ran_on, method, init, parameters


@cache
def solver(method: str, device: str):
    """The function of a method."""
    return import_module(METHODS[method][device]).solve


@cache
def initialiser(init: str, device: str):
    """The function of an initial matching; None for "none"."""
    modules = INITS[init]
    return import_module(modules.get(device, modules["cpu"])).initialise if modules else None


@cache
def search_on_gpu(method: str):
    """The function of a method, for a graph and a matching that lie on the GPU."""
    return import_module(METHODS[method]["cuda"]).search


@cache
def fill_on_gpu(init: str):
    """The function of an initial matching, likewise; None for "none"."""
    if not INITS[init]:
        return None
    if "cuda" not in INITS[init]:
        known = ", ".join(repr(name) for name, modules in INITS.items() if not modules or "cuda" in modules)
        raise ValueError(f"init {init!r} runs on the CPU only; for a graph that lies on the GPU take one of {known}")
    return import_module(INITS[init]["cuda"]).fill


def _check_name(argument: str, name: str, table: dict) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be a name, got {type(name).__name__}")
    if name != "auto" and name not in table:
        known = ", ".join(repr(known) for known in ("auto", *table))
        raise ValueError(f"{argument} must be one of {known}; got {name!r}")


@cache
def _keywords(method: str, device: str) -> tuple[str, ...]:
    parameters = inspect.signature(solver(method, device)).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
