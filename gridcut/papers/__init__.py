"""The maximum-flow algorithms of the papers, by their names; files ending in _cuda run on a GPU."""
