"""Process inputs: on threads of this process, processes of this machine, or a dask.distributed cluster."""
