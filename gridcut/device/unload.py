"""Machine code that several GPUs run is unloaded once.

numba-cuda (0.30) links a kernel once for all GPUs of a kind and loads that one library for each of them; but each of
them unloads it, too, when numba has more than ten things to give back.  The second time the driver frees what is gone:
a process that has used two GPUs may crash as it ends, with all its results out.
"""


def unload_once(numba_driver) -> None:
    """Let the last GPU that has loaded a library unload it, in numba's driver module; harmless if that has changed."""
    make = getattr(numba_driver, "_module_finalizer", None)
    if make is None or hasattr(make, "wrapped"):
        return
    users = {}  # handle of a library: how many GPUs have it

    def finalizer(context, object_code):
        unload = make(context, object_code)
        handle = int(object_code.handle)
        users[handle] = users.get(handle, 0) + 1

        def leave():
            users[handle] -= 1
            if users[handle] == 0:
                del users[handle]
                unload()

        return leave

    finalizer.wrapped = make
    numba_driver._module_finalizer = finalizer
