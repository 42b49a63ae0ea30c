"""How well linkers keep the identities of simulated particles, of which some are missed, among noise.

The particles move by a normally distributed step per frame.  "right" is the share of links between successive
detections of one particle that were found, "wrong" counts all other links, "switches" the times when the next detection
of a particle is in another track.  Every linker gets the same detections, search range and memory.
"""

import time
from importlib.util import find_spec

import numpy as np

from apps.tracking.tracking import Detections, track

COUNT, FRAMES, MEMORY, SEEDS = 400, 60, 3, 5
STEP = 1.0  # standard deviation on each axis per frame
SEARCH_RANGE = 4.0
SPACINGS = (16.0, 8.0, 6.0)  # mean distance of particles
FAULTS = ((0.05, 0.02), (0.15, 0.1))  # shares of particles that are missed, and of noise, per frame
COLUMNS = ("spacing", "missed %", "noise %", "linker", "right %", "wrong", "switches", "seconds")


def rows():
    for spacing in SPACINGS:
        for missed, noise in FAULTS:
            for name, linker in LINKERS.items():
                seconds, total = 0.0, np.zeros(4, np.int64)
                for seed in range(SEEDS):
                    found, particle = simulated(spacing, missed, noise, seed)
                    begin = time.perf_counter()
                    number = linker(found)
                    seconds += time.perf_counter() - begin
                    if number is None:
                        break
                    total += counts(found.frame, particle, number)
                right, wrong, switches, true = total.tolist()
                shown = "gave up", "", "", ""
                if number is not None:
                    shown = f"{100 * right / true:.2f}", str(wrong), str(switches), f"{seconds:.2f}"
                yield [f"{spacing:g}", f"{100 * missed:g}", f"{100 * noise:g}", name, *shown]


def simulated(spacing, missed, noise, seed):
    """Detections, and the particle of each one; noise has negative numbers."""
    rng = np.random.default_rng(seed)
    side = spacing * COUNT**0.5
    path = rng.uniform(0, side, (COUNT, 2)) + np.cumsum(rng.normal(0, STEP, (FRAMES, COUNT, 2)), axis=0)
    frame, particle = np.nonzero(rng.random((FRAMES, COUNT)) >= missed)
    extra = round(noise * COUNT) * FRAMES
    position = np.concatenate([path[frame, particle], rng.uniform(0, side, (extra, 2))])
    frame = np.concatenate([frame, np.arange(extra) % FRAMES])
    return Detections(frame, position), np.concatenate([particle, -1 - np.arange(extra)])


def counts(frame, particle, number):
    """Right links, wrong links, switches and true links, from the particle and the track of each detection."""
    by_track, by_particle = (np.lexsort((frame, of)) for of in (number, particle))
    linked, same = np.diff(number[by_track]) == 0, np.diff(particle[by_particle]) == 0
    right, kept = np.diff(particle[by_track]) == 0, np.diff(number[by_particle]) == 0
    return np.array([(linked & right).sum(), (linked & ~right).sum(), (same & ~kept).sum(), same.sum()])


def by_trackpy(found):
    """The track of each detection; None if more than 30 points compete for one another."""
    import trackpy
    from trackpy.linking import SubnetOversizeException, link_iter

    trackpy.quiet()
    order = np.argsort(found.frame, kind="stable")
    frames = np.split(found.position[order], np.searchsorted(found.frame[order], np.arange(1, FRAMES)))
    number = np.empty(len(order), np.int64)
    try:
        number[order] = np.concatenate([of for _, of in link_iter(frames, SEARCH_RANGE, memory=MEMORY)])
    except SubnetOversizeException:
        return None
    return number


def _ours(linker):
    return lambda found: track(found, search_range=SEARCH_RANGE, memory=MEMORY, linker=linker).track


LINKERS = {"cutmatch": _ours("assignment"), "cutmatch --global": _ours("global")}
if find_spec("trackpy") is not None:
    LINKERS["trackpy"] = by_trackpy
