"""Several rounds of `tiles` in one cooperative launch, for grids of few tiles: relabel, discharge, and so on.

The steps are those of the two kernels in tile_kernels.py.  On a small grid their launches take longer than a short
round.  Here a barrier of the grid follows each step instead, the host decides nothing between two rounds, and no launch
is left over when the solve ends.

There is one block per multiprocessor.  In each block, the first SEARCHERS warps search tiles.  Their numbers count
through the blocks first, so that few tiles are spread over all multiprocessors.
"""

from functools import cache

import numpy as np

from gridcut.device.cuda import SIMULATED, cuda, cuda_kernel, grid_sync
from gridcut.device.cuda_types import int32
from gridcut.tiles.tile_kernels import make_discharging, make_relabel
from gridcut.tiles.tile_search import search_words
from gridcut.tiles.tile_state import WHOLE_GRID_RULES, Shape

REGISTERS = 128  # per thread, as there is one block of 512 threads per multiprocessor
SEARCHERS = 1 if SIMULATED else 8
IDLE = np.int32(1 << 30)  # number of a warp that searches no tile


@cache
def rounds_kernel_for(shape: Shape):
    """The kernel for one neighbourhood."""
    relabel, discharge_tiles = make_relabel(shape, WHOLE_GRID_RULES), make_discharging(shape, WHOLE_GRID_RULES)
    is_solved = WHOLE_GRID_RULES.is_solved
    words = search_words(shape.arcs)

    # args: those of discharge_kernel, and the number of rounds
    @cuda_kernel(max_registers=REGISTERS)
    def tile_rounds_kernel(
        excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, rounds
    ):
        """Rounds until the solve ends, at most `rounds`; options: of discharge_kernel."""
        memory = cuda.shared.array(0, int32)
        mine = np.int32(cuda.threadIdx.x // 32)
        warp, warps = np.int32(mine * cuda.gridDim.x + cuda.blockIdx.x), np.int32(SEARCHERS * cuda.gridDim.x)
        if mine >= SEARCHERS:
            warp = IDLE
        while rounds > 0 and not is_solved(counts):
            relabel(
                height, bits, reach_bits, flags, visited, lists, counts, times, tiles, warps, memory, warp, warps,
                np.int32(mine * words),
            )  # fmt: skip
            grid_sync()
            discharge_tiles(
                excess, residual, height, bits, reach_bits, flags, visited, lists, counts, times, tiles, options, memory
            )
            grid_sync()
            rounds = np.int32(rounds - 1)

    return tile_rounds_kernel
