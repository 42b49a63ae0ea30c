"""Alternating forests grown from all free rows at once: what ms_bfs and ms_bfs_graft are made of.

`forest.py` says what the arrays hold, `serial.py` has the steps of a phase for one thread, `threads.py` the same for
several, and `phases.py` calls them until the matching is maximum.
"""
