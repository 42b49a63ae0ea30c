"""Batches of small assignment problems; files ending in _cuda run on a GPU."""
