"""The sparse assignment problem: each row has a list of allowed columns and their costs (CSR).

Row i of n is allowed column indices[a] of m >= n at cost[a], for indptr[i] <= a < indptr[i + 1]; the indices of a row
ascend.  `sparse.py` solves such arrays, `nearest.py` solves points with a metric; `feasible.py` ignores the costs.
"""
