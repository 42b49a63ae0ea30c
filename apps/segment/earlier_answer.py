"""Trust in the answer before the last stroke.

A click on a wrong region asks for that region.  But the colours of a few dots are a poor model, and a dot can change
the models so much that quite other objects are found, far from it.  What a click says about the size of the wrong
region is its depth r, the distance to the outline of the earlier object, because users click in the middle.  So the
earlier labels are not trusted up to r from a mark that contradicts them, and completely from (1 + RISE) r.

An object found for few marks is questioned if it differs from the earlier one in more than MAX_CHANGED of their pixels,
each counted by the trust in it.  Then the earlier object is corrected instead: models are fitted to it first, and its
labels cost up to HELD less where they are trusted.
"""

import numpy as np

from apps.segment.marks import BACKGROUND, OPEN
from apps.segment.plausible_objects import is_plausible

MAX_CHANGED = 0.3  # share of the pixels of both objects
HELD = 2.0  # nats: what the earlier label of a trusted pixel costs less
RISE = 2.0  # depths of a mark over which the trust grows
MIN_DEPTH = 0.016  # of the square root of the number of pixels: 8 of a reduced image


def is_questioned(found: np.ndarray, earlier: np.ndarray, marks: np.ndarray) -> bool:
    """Whether an object changes more of a plausible earlier one, bool (H, W), than the marks ask for."""
    if not is_plausible(earlier, marks > BACKGROUND, marks == BACKGROUND):
        return False
    changed = float(trust_in(earlier, marks)[found != earlier].sum())
    return changed > MAX_CHANGED * int(np.count_nonzero(found | earlier))


def trust_in(earlier: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """How far an earlier object, bool (H, W), is trusted, given marks that may contradict it; 0 to 1, float32."""
    import cv2

    def distance(where):
        return cv2.distanceTransform(where.view(np.uint8), cv2.DIST_L2, 5)

    wrong = (marks != OPEN) & ((marks > BACKGROUND) != earlier)
    count, parts = cv2.connectedComponents(wrong.view(np.uint8))
    depth = distance(earlier) + distance(~earlier)
    trust = np.ones(marks.shape, np.float32)
    for part in range(1, count):
        is_part = parts == part
        radius = max(MIN_DEPTH * marks.size**0.5, float(depth[is_part].max()))
        trust = np.minimum(trust, np.clip((distance(~is_part) / radius - 1) / RISE, 0, 1).astype(np.float32))
    return trust
