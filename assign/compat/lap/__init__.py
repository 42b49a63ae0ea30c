"""The functions of lap and lapx: the same arguments, results and exceptions.

    lap      assign.compat.lap                          returns
    lapjv    one dense matrix                           (cost,) x, y: partner of each row and column, or -1
    lapjvx   the same                                   (cost,) rows, cols: the pairs
    lapjvxa  the same                                   (cost,) pairs, shape (K, 2)
    lapmod   one sparse square matrix                   (cost,) x, y
    lapjvc, lapjvs, lapjvsa, lapjvr, lapjvh             lapx's other solvers of one dense matrix; (cost,) rows, cols
    *_batch  many matrices                              (costs,) and a list, or an array, of each of these

With a finite `cost_limit`, a pair that costs more is never chosen, and the sum over the pairs of (cost - cost_limit) is
minimal.  For costs clipped to the limit, every assignment of the smaller side has that cost, up to a constant, so a
small problem needs no larger matrix than its own.  lap adds one row per column and one column per row instead.

Where lap and this module differ: +inf forbids a pair, whereas lap may return it.  If a row (or, of more rows than
columns, a column) has no allowed partner left, it gets -1, as few as possible do, and the cost is inf as in lap.  NaN
and -inf are errors here, and undefined there.  Integers are exact.  If several assignments are optimal, lap may
return another one.
"""

from assign.compat.lap.lap_functions import (
    FP_1,
    FP_2,
    FP_DYNAMIC,
    LARGE,
    lapjv,
    lapjv_batch,
    lapjvx,
    lapjvx_batch,
    lapjvxa,
    lapjvxa_batch,
    lapmod,
    lapmod_batch,
)
from assign.compat.lap.lapx_functions import (
    lapjvc,
    lapjvh,
    lapjvh_batch,
    lapjvr,
    lapjvr_batch,
    lapjvs,
    lapjvs_batch,
    lapjvsa,
    lapjvsa_batch,
)

__all__ = [
    "FP_1",
    "FP_2",
    "FP_DYNAMIC",
    "LARGE",
    "lapjv",
    "lapjv_batch",
    "lapjvc",
    "lapjvh",
    "lapjvh_batch",
    "lapjvr",
    "lapjvr_batch",
    "lapjvs",
    "lapjvs_batch",
    "lapjvsa",
    "lapjvsa_batch",
    "lapjvx",
    "lapjvx_batch",
    "lapjvxa",
    "lapjvxa_batch",
    "lapmod",
    "lapmod_batch",
]
