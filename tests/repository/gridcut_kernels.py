"""The CUDA kernels of gridcut, with the types of their arguments, which tests compile without a device.

A function is named after the file of its kernels, and returns [(name, kernel, argument types), ...].
"""

from gridcut.device.cuda_types import float64, int32, int64, types, uint8, uint16, uint32


def _step_types(unrolled: int):
    """Argument types of flat_steps(step, unrolled)."""
    return types.UniTuple(int32, 4), types.UniTuple(int32, unrolled), int32[::1]


def _shape_for(connectivity: int, wide: bool = False):
    """The shape for a neighbourhood of 4, 8, 6, 18 or 26 pixels."""
    from gridcut.contrast import neighbourhood
    from gridcut.tiles.tile_discharge import Shape

    flat = connectivity in (4, 8)
    offsets = tuple((0,) * flat + offset for offset in neighbourhood(connectivity, both=True))
    return Shape(offsets, (1, 32, 32) if flat else (4, 8, 32), wide)


def _cudacuts_types(number, step):
    """Types of the arguments of CudaCuts' kernels."""
    from gridcut.papers.cudacuts import Frame

    frame = types.NamedUniTuple(int32, len(Frame._fields), Frame)
    return number[::1], number[::1], step, step, int32[::1], uint8[::1], int64[::1], frame, int32


def _list_kernels(cases, rules) -> list:
    """Kernels for (connectivity, type of the excess, type of the residuals)."""
    from gridcut.tiles.tile_kernels import bits_kernel, kernels_for

    listed = []
    for connectivity, excess, residual in cases:
        relabel, discharges = kernels_for(_shape_for(connectivity, excess == int64), rules)
        arguments = _discharge_types(excess, residual)
        listed += [
            (f"relabel {connectivity} {excess}", relabel, (*arguments[2:-1], int32)),
            (f"discharge {connectivity} {excess}", discharges, arguments),
            (f"bits {excess} {residual}", bits_kernel, (*arguments[:2], int64, int64, uint32[::1])),
        ]
    return listed


def _discharge_types(excess, residual) -> tuple:
    """Types of the arguments of discharge_kernel, for types of the excess and of the residuals."""
    numbers, words = int32[::1], uint32[::1]
    arrays = excess[::1], residual[::1], numbers, words, words, *[numbers] * 4, int64[::1]
    return *arrays, types.UniTuple(int32, 3), types.Tuple((int32, float64, int32))


def cut_kernels():
    from gridcut.cuda.pixel_kernels import SLOTS, cut_kernel, differences_kernel

    real = float64[::1]
    measured = (uint8[::1], int64[::1], uint8[::1], float64, float64)
    return [
        ("cut", cut_kernel, (real,) * SLOTS + (int32,) * SLOTS + measured + (real, real, int32, int32)),
        ("differences", differences_kernel, (real, real, *measured, real, real, real, int32, int32)),
    ]


def device_state_cuda():
    from gridcut.solver_states.device_state_cuda import (
        change_arcs_kernel,
        change_terminal_kernel,
        copy_kernel,
        scatter_kernel,
    )

    form, mask = int64[::1], uint8[::1]
    listed = []
    for data, excess, residual in (
        (int32[::1], int32[::1], uint16[::1]),
        (float64[::1], int64[::1], int64[::1]),
    ):
        forms = (int32, mask, form, form, float64)
        listed += [
            ("copy", copy_kernel, (data, int32, form, data)),
            ("scatter", scatter_kernel, (int64[::1], data, data)),
            ("change_terminal", change_terminal_kernel, (data, data, *forms, excess, form)),
            ("change_arcs", change_arcs_kernel, (data, data, data, data, *forms, excess, residual)),
        ]
    return listed


def pixel_kernels():
    from gridcut.cuda.pixel_kernels import (
        SLOTS,
        arcs_kernel,
        bounds_kernel,
        clamp_kernel,
        labels_kernel,
        terminals_kernel,
    )

    listed = []
    form, mask, labels = int64[::1], uint8[::1], uint8[::1]
    rows = (int32,) * SLOTS
    for data, largest in ((int32[::1], int64[::1]), (float64[::1], float64[::1])):
        listed.append(("bounds", bounds_kernel, ((data,) * SLOTS + rows + (mask, form, largest, form))))
    for data, excess, residual, side in (
        (int32[::1], int32[::1], uint16[::1], uint32[::1]),
        (float64[::1], int64[::1], int64[::1], uint8[::1]),
    ):
        listed += [
            ("terminals", terminals_kernel, (data, data, mask, form, float64, excess, form)),
            ("arcs", arcs_kernel, ((data,) * SLOTS + rows + (mask, form, float64, residual))),
            ("labels", labels_kernel, (side, mask, form, excess, labels, form)),
        ]
    return [*listed, ("clamp", clamp_kernel, (mask, form, form, form))]


def graph_waves_cuda():
    from gridcut.graph.graph_waves_cuda import GraphOnDevice, wave_kernel

    index, listed = int32[::1], []
    for number in (int32, int64):
        arrays = (index, index, index, number[::1], number[::1], index, index, index, int32)
        graph = types.NamedTuple(arrays, GraphOnDevice)
        listed.append((f"graph_waves {number}", wave_kernel, (graph, index, index, int32)))
    return listed


def problem_cuda():
    from gridcut.multilabel.problem_cuda import (
        cheapest_kernel,
        copy_kernel,
        edge_sum_kernel,
        energy_kernel,
        labels_kernel,
        paid_kernel,
        range_kernel,
        start_kernel,
        unary_sum_kernel,
        votes_kernel,
        weight_kernel,
    )

    listed = []
    view, tiles, label = int64[::1], types.UniTuple(int32, 3), int32[::1]
    for data, found, number in ((int32[::1], int64[::1], int32[::1]), (float64[::1], float64[::1], int64[::1])):
        listed += [
            ("range", range_kernel, (data, view, found, view)),
            ("weight", weight_kernel, (data, view, float64, int32, tiles, tiles, tiles, int32, number)),
            ("cheapest", cheapest_kernel, (data, view, float64, tiles, tiles, label)),
            ("paid", paid_kernel, (data, view, float64, tiles, tiles, label, number)),
            ("unary_sum", unary_sum_kernel, (data, view, tiles, tiles, label, float64[::1])),
            (
                "edge_sum",
                edge_sum_kernel,
                (data, view, tiles, float64[::1], int32, tiles, tiles, label, float64[::1]),
            ),
            ("energy", energy_kernel, (view, number, number, label, number, label, tiles, tiles, view)),
        ]
    return [
        *listed,
        ("votes", votes_kernel, (view, tiles, tiles, label, label)),
        ("start", start_kernel, (uint8[::1], view, view, tiles, tiles, label)),
        ("labels", labels_kernel, (view, tiles, tiles, label, label)),
        ("copy", copy_kernel, (uint32[::1], uint32[::1])),
    ]


def moves_cuda():
    from gridcut.multilabel.moves_cuda import move_kernels

    listed = []
    for connectivity, unary, number in ((4, int32, int32), (4, float64, int64), (26, int32, int32)):
        build_kernel, finish_kernel = move_kernels(_shape_for(connectivity, number == int64))
        ids, numbers, wide, words = int32[::1], number[::1], int64[::1], uint32[::1]
        arrays = (unary[::1], wide, float64, numbers, numbers, ids, *(numbers,) * 4, words)
        move, tiles = (int32, int32), types.UniTuple(int32, 3)
        listed.append((f"build {connectivity} {number}", build_kernel, (*arrays, wide, *move, tiles)))
        finish = (*arrays, ids, wide, ids, wide, words, *move, int32, tiles)
        listed.append((f"finish {connectivity} {number}", finish_kernel, finish))
    return listed


def cudacuts():
    from gridcut.papers.cudacuts import MAX_UNROLLED_ARCS, pull_kernel, push_kernel, relabel_kernel, send_kernel

    found = []
    for number in (int32, int64):
        for step in _step_types(MAX_UNROLLED_ARCS):
            cells = _cudacuts_types(number, step)
            found += [
                (f"{name} {number} {step}", k, cells)
                for name, k in (("push", push_kernel), ("relabel", relabel_kernel))
            ]
            frame = cells[-2]
            found.append((f"send {number} {step}", send_kernel, (*cells, number[::1], uint8[::1])))
            pull = number[::1], number[::1], step, frame, number[::1], uint8[::1]
            found.append((f"pull {number} {step}", pull_kernel, pull))
    return found


def global_relabel_cuda():
    from gridcut.papers.global_relabel_cuda import global_relabel_kernel, sink_side_kernel

    cells = int32[::1]
    found = [("sink_side", sink_side_kernel, (cells, int32, uint8[::1]))]
    for number in (int32, int64):
        arguments = (number[::1], number[::1], cells, cells, cells, cells, int32)
        found.append((f"global_relabel {number}", global_relabel_kernel, arguments))
    return found


def hybrid():
    from gridcut.papers.hybrid import hybrid_kernel
    from gridcut.papers.lock_free_cuda import MAX_UNROLLED_ARCS

    return [
        (
            f"hybrid {number} {step}",
            hybrid_kernel,
            (number[::1], number[::1], step, int32[::1], int64[::1], int32, int32, int32, int32, int32),
        )
        for number in (int32, int64)
        for step in _step_types(MAX_UNROLLED_ARCS)
    ]


def lock_free_cuda():
    from gridcut.papers.lock_free_cuda import MAX_UNROLLED_ARCS, lock_free_kernel

    return [
        (
            f"lock_free {number} {step}",
            lock_free_kernel,
            (number[::1], number[::1], step, int32[::1], int64[::1], int32, int32, int32, int32, int32),
        )
        for number in (int32, int64)
        for step in _step_types(MAX_UNROLLED_ARCS)
    ]


def halo_exchange():
    from gridcut.tiles.slabs.halo_exchange import (
        SLAB_RULES,
        pack_flow_kernel,
        pack_heights_kernel,
        unpack_flow_kernel,
        unpack_heights_kernel,
    )

    numbers, words = int32[::1], uint32[::1]
    listed = [
        ("pack heights", pack_heights_kernel, (numbers, numbers, *(int64,) * 4, numbers)),
        (
            "unpack heights",
            unpack_heights_kernel,
            (numbers, numbers, words, numbers, numbers, numbers, numbers, *(int64,) * 9),
        ),
    ]
    for excess, residual in ((int32, uint16), (int32, int32), (int64, int64)):
        e, r = excess[::1], residual[::1]
        listed += [
            (f"pack flow {residual}", pack_flow_kernel, (e, r, numbers, *(int64,) * 5, r)),
            (f"unpack flow {residual}", unpack_flow_kernel, (r, e, r, words, numbers, numbers, *(int64,) * 5)),
        ]
    return [*listed, *_list_kernels(((4, int32, uint16), (26, int32, uint16)), SLAB_RULES)]


def tile_kernels():
    from gridcut.tiles.tile_state import WHOLE_GRID_RULES

    cases = (4, int32, uint16), (4, int64, int64), (8, int32, int32), (6, int32, int32), (18, int32, uint16)
    return _list_kernels((*cases, (26, int32, int32)), WHOLE_GRID_RULES)


def tiles():
    from gridcut.tiles.tiles import rounds_kernel_for

    cases = (4, int32, uint16), (4, int64, int64), (26, int32, uint16)
    return [
        (
            f"{n} {excess}",
            rounds_kernel_for(_shape_for(n, excess == int64)),
            (*_discharge_types(excess, residual), int32),
        )
        for n, excess, residual in cases
    ]
