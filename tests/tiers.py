"""The two tiers of the suite: the quick one, each choice of every parameter once, and the full one, all combinations.

The quick tier keeps of every test function a few combinations of its parameters, so that each value of each parameter
occurs in one of them; of a parameter that only says how large or how random the data are (VARIED), it takes the middle
value, and of `dtype` one type of integers and one of floats.  It leaves out the tests marked `slow`, and the files of
FULL_TIER: what faults, signals, damaged files, other processes and the project's own programs do.  It is for whole
runs: a command line that names files, -k or -m runs all combinations of what it names, unless --quick asks for it.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

# Names of parameters that choose data, not a function, a method, an option or a fault.
VARIED = frozenset(
    """seed size shape n m k items side width length lengths degree vertices nodes num_rows num_cols high low big huge
    far factor repeats offsets neighbours connectivity channels masked family layout order writeable locked""".split()
)
FULL_TIER = frozenset(
    f"test_{name}.py"
    for name in """thread_faults fork many_threads damaged_requests app_ending several_tabs app_process
    ending hostile hostile_tables workers result_records damaged_files corruption foreign_packages
    benchmarks app_benchmarks kernel_store carried_kernels states
    untouched result_classes battery""".split()
)
# A process takes whole files, so the files that take longest are begun first: none of them runs alone at the end.
LONGEST = frozenset(
    f"test_{name}.py"
    for name in """app_browser objects_browser narrow_browser guide_examples compiled_functions switches battery hostile
    gallery states many_threads thread_faults result_classes benchmarks app_ending""".split()
)
# Kernels are compiled once more for each type of arrays; the first of these that a test has are those of most tests.
USUAL_TYPES = [np.dtype(name) for name in ("int64", "float64", "int32", "float32")]


def in_quick_tier(values: Iterable, is_quick: Callable) -> list:
    """The values of a parameter, for parametrize; those that `is_quick` is false for are left to the full tier."""
    return [value if is_quick(value) else pytest.param(value, marks=pytest.mark.slow) for value in values]


def is_whole_run(config) -> bool:
    """Whether the command line names no files, no -k and no -m; `tests` itself is no choice."""
    if config.getoption("markexpr", default="") or config.getoption("keyword", default=""):
        return False
    suite = {(config.rootpath / folder).resolve() for folder in config.getini("testpaths")}
    return {(config.invocation_params.dir / argument).resolve() for argument in map(Path, config.args)} == suite


def quick_tier(items: list) -> list:
    """The items of the quick tier, in their order."""
    by_function = {}
    for item in items:
        if item.path.name not in FULL_TIER and not item.get_closest_marker("slow"):
            by_function.setdefault((item.parent.nodeid, getattr(item, "originalname", item.name)), []).append(item)
    kept = {item for group in by_function.values() for item in each_choice(group)}
    return [item for item in items if item in kept]


def each_choice(group: list) -> list:
    """Items of one test function such that each choice occurs in one: greedily the item with most new choices."""
    tables = [_names(*mark.args, **mark.kwargs) for mark in group[0].iter_markers("parametrize")]
    single = set(_values(group[0])).difference(*tables)
    names = [of for of in (*tables, *((name,) for name in single)) if not VARIED.issuperset(of)]
    by_choices = {}
    for item in sorted(group, key=_distance_from_usual(group)):
        by_choices.setdefault(_choices(_values(item), names), item)
    missing = set().union(*by_choices)
    chosen = [] if missing else list(by_choices.values())
    while missing:
        best = max(by_choices, key=lambda choices: len(choices & missing))
        chosen.append(by_choices[best])
        missing -= best
    return chosen


def _choices(values: dict, names: list) -> frozenset:
    """What a test was parametrised with, as (names, values by identity); of a type, whether it is one of floats.

    Parameters that one decorator sets together are one choice, so that every row of its table is run.
    """
    return frozenset(
        (of, np.dtype(values["dtype"]).kind == "f" if of == ("dtype",) else tuple(id(values[name]) for name in of))
        for of in names
    )


def _distance_from_usual(group: list) -> Callable:
    """A key to sort by: the place of the type among the usual ones, and how far varied values are from the middle."""
    varied = VARIED.intersection(_values(group[0]))
    orders = {name: list(dict.fromkeys(id(_values(item)[name]) for item in group)) for name in varied}

    def distance(item):
        values = _values(item)
        dtype = np.dtype(values["dtype"]) if "dtype" in values else USUAL_TYPES[0]
        rank = USUAL_TYPES.index(dtype) if dtype in USUAL_TYPES else len(USUAL_TYPES)
        return rank, sum(abs(2 * order.index(id(values[name])) + 1 - len(order)) for name, order in orders.items())

    return distance


def _values(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _names(argnames, *_, **__) -> tuple[str, ...]:
    """The names in the first argument of pytest.mark.parametrize."""
    return tuple(re.findall(r"\w+", argnames)) if isinstance(argnames, str) else tuple(argnames)
