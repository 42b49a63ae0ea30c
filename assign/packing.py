"""Results of `assign.solve` from the arrays of its solvers."""

import numpy as np

from assign.assignment import Assignment
from assign.core.given import Given
from assign.core.problem import Dense, Problem
from gridcut.device import kernel


def pack(problem: Problem, given: Given, col_of_row, u, v, device: str, name: str, stats, cost=None) -> Assignment:
    """Build the Assignment of the caller's problem from a solver's host arrays; the cost is summed if not given."""
    row = np.flatnonzero(col_of_row >= 0)
    col = col_of_row[row].astype(np.int64)
    row_price, col_price = u, v
    if problem.transposed:
        order = np.argsort(col)
        row, col = col[order], row[order]
        row_price, col_price = v, u
    if problem.level:
        row_price, col_price = row_price + problem.level, col_price - problem.level
    if problem.negated:
        row_price, col_price = -row_price, -col_price
    if problem.shift is not None:
        row_price = row_price + (-problem.shift if problem.negated else problem.shift)
    if problem.integral:
        row_price, col_price = (np.rint(a).astype(np.int64) for a in (row_price, col_price))
    cost = total(problem, row, col) if cost is None else cost
    return Assignment(row, col, cost, row_price, col_price, device, name, stats, given)


def total(problem: Problem, row, col) -> int | float:
    """Sum of the caller's costs over the pairs."""
    given = problem.given
    if isinstance(given, Dense):
        costs = given.cost[row, col]
    else:
        costs = given.cost[find_pairs(given.indptr, given.indices, row, col)]
    if costs.dtype.kind == "f":
        return float(costs.sum(dtype=np.float64))
    return int(costs.sum(dtype=np.int64))


@kernel
def find_pairs(indptr, indices, row, col):
    """Position of each pair in `indices`, which ascend in each row."""
    position = np.empty(row.size, np.int64)
    for k in range(row.size):
        low, high = indptr[row[k]], indptr[row[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < col[k]:
                low = middle + 1
            else:
                high = middle
        position[k] = low
    return position
