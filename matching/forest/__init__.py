"""Alternating forests that grow from all free rows simultaneously: the parts of ms_bfs and ms_bfs_graft.

`forest.py` describes the arrays, `serial.py` has the steps of a phase for one thread and `forest_threads.py` those for several
threads, and `phases.py` calls them until the matching is maximum.
"""
