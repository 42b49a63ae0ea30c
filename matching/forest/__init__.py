"""Multi-source breadth-first search with tree grafting: all alternating trees grow simultaneously.

`bitmap_search.py` is the search of one thread: of the default, and of ms_bfs and ms_bfs_graft, which differ from it in
their rules only. `ms_bfs_graft_cuda.py` is the search on a GPU: of the default, and of ms_bfs_graft.
"""
