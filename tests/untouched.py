"""Calls whose arguments must not change: values, types, strides and the identities of all arrays they hold."""

import networkx
import numpy as np
import scipy.sparse as sp

import gridcut
import matching


def arrays_in(value) -> list:
    """All arrays in an argument, and the arrays whose memory they are views of."""
    if isinstance(value, np.ndarray):
        return [value] + ([] if value.base is None else arrays_in(value.base))
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays_in(part)]
    if isinstance(value, tuple | list):
        return [array for part in value for array in arrays_in(part)]
    if sp.issparse(value):
        names = ("data", "indices", "indptr", "row", "col", "offsets", "rows")
        return [] if value.format == "dok" else [a for name in names for a in arrays_in(getattr(value, name, None))]
    if isinstance(value, gridcut.BinaryEnergy):
        return arrays_in([value.unary, value.pairwise, value.triple])
    if isinstance(value, matching.BipartiteGraph):
        return arrays_in([value.by_row, value.by_col])
    if isinstance(value, matching.Matching):
        return arrays_in([value.row_match, value.col_match])
    return arrays_in(value.partner) if isinstance(value, matching.GreedyMatching) else []


def contents(value):
    """An argument as values that can be compared, with the identities of its arrays."""
    if isinstance(value, networkx.Graph):
        return list(value.nodes(data=True)), list(value.edges(data=True))
    if sp.issparse(value) and value.format in ("lil", "dok"):
        return value.toarray().tolist()
    arrays = [(id(a), a.shape, a.strides, str(a.dtype), a.tolist()) for a in arrays_in(value)]
    keys = [list(value)] if isinstance(value, dict) else []
    return arrays, keys, repr(value) if not arrays else type(value)


def untouched(function, *arguments, locked=False, **named):
    """Call a function, check its result, and compare all arguments with what they were; locked: read-only arrays."""
    passed = [*arguments, *named.values()]
    before = [contents(value) for value in passed]
    # Lists built by the package are not locked: kernels would be compiled again for them.
    to_lock = [value for value in passed if locked and not isinstance(value, matching.BipartiteGraph)]
    flags = [(array, array.flags.writeable) for array in arrays_in(to_lock)]
    for array, _ in flags:
        array.setflags(write=False)
    try:
        found = function(*arguments, **named)
        if hasattr(found, "check"):
            found.check()
    finally:
        for array, flag in reversed(flags):  # a base before its views
            array.setflags(write=flag)
    assert [contents(value) for value in passed] == before, function
    return found
