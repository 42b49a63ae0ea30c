"""Initial matchings; files ending in _cuda run on a GPU."""
