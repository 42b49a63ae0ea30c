"""Dense flow of a sequence of frames: every frame is prepared once, and several pairs are computed at a time."""

from collections.abc import Iterable, Iterator

from numpy.typing import ArrayLike

from apps.common.command import limit_threads, limited_threads
from apps.common.images import to_rgb
from apps.common.row_blocks import mapped
from apps.optical_flow import LINKERS
from apps.optical_flow.dense_flow import Flow, check_linker, check_sizes, flow_of_frames
from apps.optical_flow.frame import Frame
from gridcut.device import DeviceName, thread_count

PAIRS_AT_ONCE = 2  # each on a share of the threads; stages that run on one thread then overlap


def flow_sequence(
    frames: Iterable[ArrayLike],
    *,
    linker: str = LINKERS[0],
    method: str = "auto",
    fast: bool = False,
    device: DeviceName = "auto",
) -> Iterator[Flow]:
    """Compute the dense optical flow from each frame of a sequence to the next.

    The flows equal those of `flow` on each pair.  They take less time, because the pyramids, SIFT points and
    descriptors of a frame are computed once for both of its pairs, and because two pairs are computed concurrently,
    while further frames are read and the caller uses earlier flows.

    Parameters
    ----------
    frames : iterable of array_like, (H, W), (H, W, 3) or (H, W, 4)
        Frames of the same size, as for `flow`; drawn one at a time, up to three before the flow that is returned.
    linker, method, fast, device
        As for `flow`.

    Yields
    ------
    Flow
        The flow from frame 0 to frame 1, from 1 to 2, ...; nothing if there are fewer than two frames.

    Raises
    ------
    InputError
        As `flow`; the message names the frame.
    """
    check_linker(linker, fast, method)
    threads = max(1, thread_count() // PAIRS_AT_ONCE)
    pairs = min(PAIRS_AT_ONCE, thread_count())

    def flow_of_pair(pair):
        return flow_of_frames(*pair, linker=linker, method=method, fast=fast, device=device)

    # OpenCV has one limit of threads for the whole process: it is restored in the end.
    with limited_threads(thread_count()):
        limit = {"initializer": limit_threads, "initargs": (threads,)}
        yield from mapped(flow_of_pair, _pairs(frames), pairs, pairs, **limit)


def _pairs(frames: Iterable[ArrayLike]) -> Iterator[tuple[Frame, Frame]]:
    last = None
    for number, pixels in enumerate(frames):
        frame = Frame(to_rgb(pixels, f"frame {number}"))
        if last is not None:
            check_sizes(last, frame, (f"frame {number - 1}", f"frame {number}"))
            yield last, frame
        last = frame
