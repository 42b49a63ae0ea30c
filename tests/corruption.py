"""Results of every kind, and every way in which a field or an argument of one is falsified.

A package's `corruption.py` has RESULTS, {name: make(seed, device)}: each returns a result and those of the caller's
arrays that `check()` reads again; and PROVED, {class: fields that a certificate proves}; the other fields say what ran.
`survey` says which falsifications `check()` lets pass.  It holds no `assert`, so that it means the same under
``python -O``; run as a program it prints the counts and fails if one passes:

    python -O -m tests.corruption
"""

import copy
import dataclasses
import math
import sys
from collections import Counter

import numpy as np
import scipy.sparse as sp

from gridcut.device import CertificateError
from tests.assign import corruption as of_assign
from tests.gridcut import corruption as of_gridcut
from tests.matching import corruption as of_matching

PACKAGES = {"gridcut": of_gridcut, "assign": of_assign, "matching": of_matching}
RESULTS = {f"{package}: {name}": make for package, of in PACKAGES.items() for name, make in of.RESULTS.items()}
PROVED = {name: fields for of in PACKAGES.values() for name, fields in of.PROVED.items()}


def host(value):
    return value.copy_to_host() if hasattr(value, "copy_to_host") else value


def forged_arrays(array, other):
    """Named falsifications of an array."""
    for place in {0, array.size // 2, array.size - 1} if array.size else ():
        value = array.reshape(-1)[place]
        values = {"changed": value + 1, "lowered": value - 1, "far": value + (2**20 if array.itemsize > 1 else 9)}
        for how, number in ({"changed": not value} if array.dtype == bool else values).items():
            wrong = array.copy()
            wrong.reshape(-1)[place] = number
            yield f"entry {place} {how}", wrong
    yield "inverted", ~array if array.dtype == bool else -array - 1
    for axis in range(array.ndim):
        yield f"reversed along {axis}", np.flip(array, axis).copy()
        yield f"shifted along {axis}", np.roll(array, 1, axis)
    yield "permuted", np.random.default_rng(1).permutation(array.reshape(-1)).reshape(array.shape)
    yield "scaled", array * 2
    yield "zero", np.zeros_like(array)
    yield "transposed", array.T
    yield "of floats", array.astype(np.float32)
    if array.dtype != object:  # Python integers that fit nothing smaller
        yield "of small integers", array.astype(np.int16)
    yield "of objects", array.astype(object)
    yield "one axis more", array[None]
    yield "cut short", array[:-1]
    yield "longer", np.concatenate([array, array[:1]])
    yield "a list", array.tolist()
    yield "nothing", None
    yield "of another problem", other


def forged_numbers(value, other):
    """Named falsifications of a number."""
    yield "one more", value + 1
    yield "one less", value - 1
    yield "a little more", value * (1 + 1e-6) + 1e-12
    yield "negated", -value
    yield "scaled", value * 2
    yield "halved", value / 2
    yield "of another kind", int(value) if isinstance(value, float) else float(value)
    yield "a NumPy array", np.array([value])
    yield "a text", str(value)
    yield "nan", math.nan
    yield "inf", math.inf
    yield "nothing", None
    yield "of another problem", other


def forged_matrices(matrix, other):
    """Named falsifications of a csr_array."""
    yield "dense", matrix.toarray()
    yield "an spmatrix", sp.csr_matrix(matrix)
    yield "transposed pattern", sp.csr_array((matrix.data[::-1], matrix.indices, matrix.indptr), matrix.shape)
    yield "scaled", 2 * matrix
    yield "without edges", sp.csr_array(matrix.shape, dtype=matrix.dtype)
    yield "of columns", matrix.tocsc()
    yield "of floats", matrix.astype(np.float32)
    yield "larger", sp.csr_array(sp.block_diag([matrix, [[0]]]))
    for k in range(matrix.nnz):
        wrong = matrix.copy()
        wrong.data[k] += 1
        yield f"value {k} changed", wrong
        wrong = matrix.copy()
        wrong.indices[k] = (wrong.indices[k] + 1) % matrix.shape[0]
        yield f"column {k} changed", wrong
    yield "nothing", None
    yield "of another problem", other


def forged_tuples(values, other):
    """Named falsifications of a tuple of numbers or of results."""
    yield "reversed", values[::-1]
    yield "cut short", values[:-1]
    yield "twice", values * 2
    yield "a list", list(values)
    yield "nothing", None
    yield "of another problem", other
    for k, value in enumerate(values):
        if dataclasses.is_dataclass(value):
            for field, how, wrong in forged_fields(value, other[0]):
                yield f"item {k} {field} {how}", (*values[:k], altered(value, field, wrong), *values[k + 1 :])
        else:
            yield f"item {k} changed", (*values[:k], value + 1, *values[k + 1 :])


def forged_results(value, other):
    """Falsifications of a result that is part of another."""
    yield "of another problem", other
    yield "another value", dataclasses.replace(value, value=value.value + 1)
    yield "other labels", dataclasses.replace(value, labels=~value.labels)


def forged(value, other):
    if isinstance(value, np.ndarray):
        return forged_arrays(value, other)
    if sp.issparse(value):
        return forged_matrices(value, other)
    if isinstance(value, tuple):
        return forged_tuples(value, other)
    return (forged_results if dataclasses.is_dataclass(value) else forged_numbers)(value, other)


def forged_fields(result, other):
    """(field, how, wrong value) of all fields that are proved, without those that change nothing."""
    for field in PROVED[type(result).__name__]:
        value, theirs = host(getattr(result, field)), host(getattr(other, field))
        for how, wrong in forged(value, theirs):
            if not same(value, wrong):
                yield field, how, wrong


def altered(result, field, value):
    """The result with another value in a field, or of a property that is computed once."""
    if field in {one.name for one in dataclasses.fields(result)}:
        return dataclasses.replace(result, **{field: value})
    twin = copy.copy(result)
    vars(twin)[field] = value
    return twin


def same(one, other) -> bool:
    """Whether a falsification changed nothing."""
    if type(one) is not type(other):
        return False
    if sp.issparse(one):
        return one.shape == other.shape and one.dtype == other.dtype and one.nnz == other.nnz and not (one != other).nnz
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one):
        return all(same(host(getattr(one, f)), host(getattr(other, f))) for f in PROVED[type(one).__name__])
    return one == other


def refuses(result) -> bool:
    """Whether check() raises CertificateError; any other exception is let through."""
    try:
        result.check()
    except CertificateError:
        return True
    return False


def survey(name: str, device: str = "cpu") -> tuple[Counter, list[str]]:
    """How many falsifications of each field of one result were tried, and those that passed."""
    package = PACKAGES[name.partition(":")[0]]
    as_good = getattr(package, "as_good", lambda result: False)
    result, arguments = RESULTS[name](1, device)
    other, _ = RESULTS[name](2, device)
    result.check()
    tried, passed = Counter(), []

    def note(field, how, found):
        tried[field] += 1
        if not found:
            passed.append(f"{name}: {field} {how}")

    for field, how, wrong in forged_fields(result, other):
        one = altered(result, field, wrong)
        note(field, how, refuses(one) or as_good(one))
    for field in PROVED[type(result).__name__]:
        value = getattr(result, field)
        if isinstance(value, np.ndarray) and value.flags.writeable and value is getattr(result, field):
            kept = value.copy()
            for how, wrong in forged_arrays(kept, host(getattr(other, field))):
                fits = isinstance(wrong, np.ndarray) and wrong.dtype == kept.dtype and wrong.shape == kept.shape
                if fits and not same(kept, wrong):
                    value[...] = wrong
                    note(field, f"{how} in place", refuses(result) or as_good(result))
            value[...] = kept
    result.check()
    for number, array in enumerate(arguments):
        kept = array.copy()
        for how, wrong in package.changed(kept):
            if not same(kept, wrong):
                array[...] = wrong
                note(f"argument {number}", how, refuses(result))
                array[...] = kept
    result.check()
    return tried, passed


def main() -> int:
    tried, passed = 0, []
    for name in RESULTS:
        found, let_through = survey(name)
        tried, passed = tried + found.total(), passed + let_through
    print(f"{len(RESULTS)} results, {tried} falsifications, {len(passed)} passed")
    print(*passed, sep="\n", end="")
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
