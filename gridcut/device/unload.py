"""Unload machine code only once if several GPUs have loaded it.

numba-cuda (0.30) links a kernel once for all GPUs of the same kind and loads that library on each of them.  But each
GPU also unloads it, once numba has more than ten objects to free.  The second time the driver frees memory that no
longer exists: a process that has used two GPUs may crash at exit, after all its results are written.
"""


def unload_once(numba_driver) -> None:
    """Patch numba's driver module so that the last GPU unloads a library; no effect if its internals have changed."""
    make = getattr(numba_driver, "_module_finalizer", None)
    if make is None or hasattr(make, "wrapped"):
        return
    users = {}  # handle of a library: number of GPUs that have loaded it

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
