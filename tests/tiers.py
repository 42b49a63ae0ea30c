"""The two tiers of the suite: the quick one, each choice of every parameter once, and the full one, all combinations.

The quick tier keeps of every test function a few combinations of its parameters, so that each value of each parameter
occurs in one of them, and leaves out the tests marked `slow`.  It is for whole runs only: a command line that names
files, -k or -m runs all combinations of what it names.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

# Kernels are compiled once more for each type of arrays.  The quick tier takes the first of each kind that a test has.
USUAL_TYPES = [np.dtype(name) for name in ("int64", "int32", "float64", "float32")]


def in_quick_tier(values: Iterable, is_quick: Callable) -> list:
    """The values of a parameter, for parametrize; those that `is_quick` is false for are left to the full tier."""
    return [value if is_quick(value) else pytest.param(value, marks=pytest.mark.slow) for value in values]


def few_types(dtypes: Iterable) -> list:
    """Types of arrays, for parametrize; the quick tier takes one of integers and one of floats."""
    dtypes = list(dtypes)
    usual = sorted(dtypes, key=lambda dtype: _rank(np.dtype(dtype)))
    kept = {np.dtype(dtype).kind == "f": dtype for dtype in reversed(usual)}.values()
    return in_quick_tier(dtypes, lambda dtype: any(dtype is one for one in kept))


def _rank(dtype: np.dtype) -> int:
    return USUAL_TYPES.index(dtype) if dtype in USUAL_TYPES else len(USUAL_TYPES)


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
        if not item.get_closest_marker("slow"):
            by_function.setdefault((item.parent.nodeid, getattr(item, "originalname", item.name)), []).append(item)
    kept = {item for group in by_function.values() for item in each_choice(group)}
    return [item for item in items if item in kept]


def each_choice(group: list) -> list:
    """Items of one test function such that each choice occurs in one: greedily the item with most new choices."""
    choices = [_choices(item) for item in group]
    missing = set().union(*choices)
    chosen = [item for item, own in zip(group, choices, strict=True) if not own]
    while missing:
        best = max(range(len(group)), key=lambda index: len(choices[index] & missing))
        chosen.append(group[best])
        missing -= choices[best]
    return chosen


def _choices(item) -> set[tuple]:
    """What a test was parametrised with, as (names, values by identity).

    Parameters that one decorator sets together are one choice, so that every row of its table is run.
    """
    values = item.callspec.params if hasattr(item, "callspec") else {}
    tables = [_names(*mark.args, **mark.kwargs) for mark in item.iter_markers("parametrize")]
    single = set(values).difference(*tables)
    return {(names, tuple(id(values[name]) for name in names)) for names in (*tables, *((name,) for name in single))}


def _names(argnames, *_, **__) -> tuple[str, ...]:
    """The names in the first argument of pytest.mark.parametrize."""
    return tuple(re.findall(r"\w+", argnames)) if isinstance(argnames, str) else tuple(argnames)
