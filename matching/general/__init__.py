"""Greedy matchings of general graphs on the CPU, one algorithm a file.

Each exports solve(graph, partner, *, ...), which matches vertices in `partner` (int32, -1: free, all free at first)
until no edge joins two free ones, and returns counts of what it did.
"""
