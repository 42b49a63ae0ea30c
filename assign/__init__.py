"""The linear assignment problem on arrays: dense, sparse and batched costs.

Nothing is implemented here yet.  This package will hold cost-scaling and auction-like solvers behind
`assign.solve`, `assign.solve_batch` and a drop-in `assign.linear_sum_assignment`, each result carrying the
prices that prove it optimal.
"""
