"""Graphs, results and certificates: what all methods of matching share; files ending in _cuda run on a GPU."""
