"""The CUDA kernels of assign, with the types of their arguments, which tests compile without a device.

A function is named after the file of its kernels, and returns [(name, kernel, argument types), ...].
"""

from gridcut.device.cuda_types import float32, float64, int32, int64, types, uint8


def _forms():
    """Some forms of dense costs: name, form, types of the data and of the scale."""
    from assign.dense.costs_cuda import Matrix, Points

    return (
        ("int32", Matrix("i"), int32, int64),
        ("int64", Matrix("i"), int64, int64),
        ("float32", Matrix("f"), float32, float64),
        ("points", Points(2, False, True), float64, int64),
    )


def batch_team_cuda():
    from assign.batch.batch_team_cuda import kernel_for, kind_for

    listed = []
    for given, number, n, limited in (
        (int32, int32, 30, False),
        (int32, int32, 30, True),
        (float32, int64, 30, False),
        (float64, int64, 64, True),
        (int64, int64, 100, False),
        (int32, int32, 300, False),
        (int32, int64, 300, True),
        (float32, int64, 300, False),
        (float32, int64, 300, True),
        (int32, int32, 1000, False),
        (float64, int64, 2000, False),
        (int64, int64, 2000, True),
    ):
        kind = kind_for(str(given), str(number), n, n, limited)
        real = float64 if str(given).startswith("float") else int64
        types_of = (given[::1], int32[::1], int32[::1], real[::1], int32[::1], real[::1], real[::1], uint8[::1])
        listed.append((f"{given} {number} {n} {limited}", kernel_for(kind), types_of + (int64,) * 5))
    return listed


def arc_lists_cuda():
    from assign.dense.arc_lists_cuda import lists_kernel_for, row_kernel_for

    listed = []
    for name, form, data, scale in _forms():
        cost = int64 if form.is_integer else float64
        types = (data[::1], int64[::1], int64, int64, scale, int64[::1], int64, int64)
        types += (int32[::1], int64[::1], cost[::1], int64[::1])
        listed.append((f"lists {name}", lists_kernel_for(form), types))
        listed.append((f"row {name}", row_kernel_for(form), (data[::1], int64, int64, int64, cost[::1])))
    return listed


def auction_cuda():
    from assign.dense.auction_cuda import THREADS, Costs, Lists, Schedule, auction_kernel_for

    listed = []
    for name, form, data, scale in _forms():
        arguments = (
            types.NamedTuple((data[::1], int64, int64, scale), Costs),
            int64[::1],
            types.NamedTuple((int32[::1], int64[::1], int64[::1]), Lists),
            types.NamedTuple((float64, int64, float64, int64, int64, int64), Schedule),
            int64[::1],
        )
        listed += [
            (f"auction {name} {threads}", auction_kernel_for(form, threads), arguments) for threads in set(THREADS)
        ]
    return listed


def augment_cuda():
    from assign.dense.auction_cuda import Costs, Lists
    from assign.dense.augment_cuda import augment_kernel_for
    from assign.dense.augment_steps_cuda import Paths

    ids, longs = int32[::1], int64[::1]
    lists = types.NamedTuple((ids, longs, longs), Lists)
    paths = types.NamedTuple((longs, ids, ids, longs, longs, longs, longs, ids, ids, ids, ids), Paths)
    listed = []
    for name, form, data, scale in _forms():
        costs = types.NamedTuple((data[::1], int64, int64, scale), Costs)
        listed.append((f"augment {name}", augment_kernel_for(form), (costs, longs, lists, paths, longs, int64)))
    return listed


def reduce_cuda():
    from assign.dense.reduce_cuda import kernels_of

    listed = []
    for name, form, data, scale in _forms():
        largest, columns, rows = kernels_of(form)
        front = (data[::1], int64, int64)
        listed += [
            (f"largest {name}", largest, (*front, int64[::1])),
            (f"columns {name}", columns, (*front, scale, int64[::1], int64[::1])),
            (f"rows {name}", rows, (*front, scale, int64[::1], int64[::1])),
        ]
    return listed


def lock_free_cuda():
    from assign.papers.lock_free_cuda import empty_kernel, lock_free_kernel, low_kernel, mark_kernel, take_out_kernel

    ids, numbers = int32[::1], int64[::1]
    return [
        (
            "lock_free",
            lock_free_kernel,
            (ids, ids, ids, ids, numbers, ids, ids, numbers, numbers, int32, int64, int32),
        ),
        ("empty", empty_kernel, (ids, ids, ids, numbers, ids, ids, ids, numbers, int32, int64)),
        ("low", low_kernel, (ids, ids, ids, numbers, ids, numbers, numbers, int64)),
        ("mark", mark_kernel, (ids, ids, ids, ids, numbers, ids, numbers, numbers, int32, int64)),
        ("take_out", take_out_kernel, (ids, ids, ids, ids, numbers, ids, int32, int32, int32)),
    ]


def solving_cuda():
    from assign.solving_cuda import bounds_kernel, copy_kernel, float_bounds_kernel, pair_kernel

    listed = []
    for kind in (int32, int64, float32, float64):
        data = kind[::1]
        listed.append(("copy", copy_kernel, (data, int64, int64, int64, int64, int64, kind, data)))
        listed.append(("pair", pair_kernel, (data, int64, int32[::1], data)))
        if kind in (int32, int64):
            listed.append(("bounds", bounds_kernel, (data, int64[::1])))
        else:
            listed.append(("float bounds", float_bounds_kernel, (data, int64[::1], float64[::1])))
    return listed
