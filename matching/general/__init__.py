"""Greedy matchings of general graphs and coarsening: the public functions, and one file per algorithm.

Each algorithm exports solve(graph, partner, *, ...). It matches vertices in `partner` (int32, -1: unmatched, initially
all) until no edge joins two unmatched vertices, and returns counts of the work done.
"""
