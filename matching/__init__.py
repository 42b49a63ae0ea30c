"""Matchings in graphs: maximum-cardinality bipartite matching and greedy matching of general graphs.

Nothing is implemented here yet.  This package will hold push-relabel, augmenting-path and tree-grafting
matchers behind `matching.maximum`, a drop-in `matching.maximum_bipartite_matching`, and what follows from a
maximum matching (König cover, Dulmage-Mendelsohn decomposition, structural rank).
"""
