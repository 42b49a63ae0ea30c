"""Cuts of any sparse graph: the graph and its arrays, the default method, results and their certificate."""
