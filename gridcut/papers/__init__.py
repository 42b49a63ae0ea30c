"""Maximum-flow algorithms as published, one file per algorithm; files ending in _cuda run on a GPU."""
