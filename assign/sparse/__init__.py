"""The sparse assignment problem: rows know their allowed columns and what those cost (CSR).

Row i of n may have column indices[a] of m >= n at cost[a], for indptr[i] <= a < indptr[i + 1]; the indices of a row
ascend.  `solve.py` takes such arrays, `nearest.py` points and a metric; `feasible.py` looks at no costs.
"""
