"""What a proposed pair costs: the log of the odds that it is wrong.

Three measurements of a pair tell right pairs from wrong ones:

    stray       how far the motion strays from that of the neighbours, pixels (`agreement`)
    apart       how far the place is from the nearest place that another tracker proposes for the same point, pixels
    unlike      1 - normalised cross-correlation of the patches, 0 ... 2

and one says how well the point can be told from its surroundings:

    corner      smaller over larger eigenvalue of the structure tensor: near 0 on straight edges, along which trackers
                slide unnoticed

The odds follow from the logarithms of the four, as logistic regression has it.  If the odds of pairs are independent,
the one-to-one set of pairs with the least sum of log odds is the most probable, and the price of staying unmatched is
the log odds above which a pair is not worth having.

The weights were fitted to stereo pairs with known disparity and to bent pictures with known motion.  Measured there, a
Lucas-Kanade check back to the first frame adds little to these, and costs as much time as tracking.
"""

import cv2
import numpy as np

CONSTANT = -1.8
DEVIATION, DEVIATION_OFFSET = 1.1, 0.3
SEPARATION, SEPARATION_OFFSET, MAX_SEPARATION = 0.45, 0.2, 20.0
DISSIMILARITY, DISSIMILARITY_OFFSET = 1.05, 0.05
CORNER, CORNER_SIDE = -0.4, 9


def log_odds(
    deviation: np.ndarray, separation: np.ndarray, dissimilarity: np.ndarray, corner: np.ndarray
) -> np.ndarray:
    """Log odds of being wrong of pairs (K,), from the measurements of each; 0 is even chances, small is good."""
    return (
        CONSTANT
        + DEVIATION * np.log(deviation + DEVIATION_OFFSET)
        + SEPARATION * np.log(np.minimum(separation, MAX_SEPARATION) + SEPARATION_OFFSET)
        + DISSIMILARITY * np.log(dissimilarity + DISSIMILARITY_OFFSET)
        + CORNER * np.log(corner)
    )


def probability(odds: np.ndarray) -> np.ndarray:
    """Of being right, from the log odds of being wrong."""
    return 1 / (1 + np.exp(odds))


def nearest_other_proposal(position: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Distance from each proposed place (N, S, 2) to the nearest other one found for its point, (N, S); inf if none."""
    distance = np.linalg.norm(position[:, :, None] - position[:, None], axis=3)
    distance[~(found[:, :, None] & found[:, None])] = np.inf
    same = np.arange(position.shape[1])
    distance[:, same, same] = np.inf
    return distance.min(axis=2)


def cornerness(grey: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Smaller over larger eigenvalue of the structure tensor of a uint8 grey frame round points (N, 2), in 0 ... 1 and
    never 0.
    """
    values = cv2.cornerEigenValsAndVecs(grey, CORNER_SIDE, 3)
    y, x = (np.clip(np.rint(points[:, i]).astype(int), 0, grey.shape[1 - i] - 1) for i in (1, 0))
    pair = values[y, x, :2].astype(np.float64)
    noise_floor = 1e-6  # grain alone has more
    return (np.maximum(pair.min(axis=1), 0) + noise_floor) / (pair.max(axis=1) + noise_floor)
