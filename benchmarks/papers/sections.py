"""What the papers' experiments share: sections of a report, and graphs of their families."""

from collections.abc import Callable
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks import matching_graphs as graphs
from benchmarks.matching_instances import LESS_SKEWED, SKEWED
from benchmarks.table import markdown, number
from benchmarks.timing import least

AGAIN = "again"


class Section(NamedTuple):
    """A table of a report."""

    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]


def text_of(section: Section) -> str:
    return f"## {section.title}\n\n{section.note}\n\n{markdown(section.columns, section.rows)}"


def count(value) -> str:
    """A count with spaces between thousands."""
    return f"{int(value):,}".replace(",", " ")


def spread(values, digits: int = 2) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def spanned(values, digits: int = 2) -> str:
    """The least and the largest value."""
    return f"{number(min(values), digits)} to {number(max(values), digits)}"


def least_processor_time(runs: dict, repeats: int) -> tuple[dict, dict]:
    """Least processor seconds and last results of several callables on one thread, interleaved.

    A busy machine changes them less than the time on the clock.  The first one is measured twice, also as AGAIN: no
    difference between two of them is an effect if it is smaller.
    """
    return least({**runs, AGAIN: next(iter(runs.values()))}, repeats, process_time, float("inf"))


def repeated(seconds: dict) -> str:
    """The second time of the first callable over its first one."""
    return number(seconds[AGAIN] / next(iter(seconds.values())))


# Graphs of Azad's three classes, by the names of the paper where a generator has the same family; 2^15 vertices.
CLASSES: dict[str, dict[str, Callable]] = {
    "scientific": {
        "delaunay": lambda scale: graphs.delaunay(scale),
        "rgg": lambda scale: graphs.random_geometric(scale, 15.8),
        "grid": lambda scale: graphs.road(1 << scale // 2, 0.0),
        "uniform 5": lambda scale: graphs.uniform(1 << scale, 5),
    },
    "scale-free": {
        "RMAT": lambda scale: graphs.rmat(scale, 15, LESS_SKEWED),
        "uniform 3": lambda scale: graphs.uniform(1 << scale, 3),
    },
    "networks": {
        "road": lambda scale: graphs.road(1 << scale // 2, 0.3),
        "web": lambda scale: graphs.rmat(scale, 12, SKEWED),
        "kron": lambda scale: graphs.rmat(scale, 16, SKEWED, both=True),
    },
}


def classes(quick: bool, scale: int = 15) -> dict[str, Callable]:
    """{name: function} of all graphs, of 2^scale vertices, or tiny ones."""
    scale = 8 if quick else scale
    return {name: lambda make=make: make(scale) for some in CLASSES.values() for name, make in some.items()}


def class_of(name: str) -> str:
    return next(kind for kind, some in CLASSES.items() if name in some)
