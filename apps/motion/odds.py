"""The cost of a proposed pair: the log odds that it is wrong.

Three measurements of a pair distinguish right from wrong pairs:

    deviation       of the motion from that of the neighbours, pixels (`apps.motion.agreement`)
    separation      distance to the nearest position that another tracker proposes for the same point, pixels
    dissimilarity   1 - normalised cross-correlation of the patches, 0 to 2

and one measures how well the point can be localised:

    corner          smaller over larger eigenvalue of the structure tensor: near 0 on straight edges, along which
                    trackers drift

The log odds are a linear function of the logarithms of the four, fitted by logistic regression.  If pairs are
independent, the one-to-one set of pairs with the minimum sum of log odds is the most probable, and the cost of leaving
a point unmatched is the log odds above which a pair is rejected.

The weights were fitted to stereo pairs with known disparity and to images warped by known motion.  On those, a
Lucas-Kanade check back to the first frame adds little and takes as long as tracking.
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
    """Return the log odds (K,) that pairs are wrong, from their measurements; 0 is even odds, smaller is better."""
    return (
        CONSTANT
        + DEVIATION * np.log(deviation + DEVIATION_OFFSET)
        + SEPARATION * np.log(np.minimum(separation, MAX_SEPARATION) + SEPARATION_OFFSET)
        + DISSIMILARITY * np.log(dissimilarity + DISSIMILARITY_OFFSET)
        + CORNER * np.log(corner)
    )


def probability(odds: np.ndarray) -> np.ndarray:
    """Return the probability of being right, from the log odds of being wrong."""
    return 1 / (1 + np.exp(odds))


def nearest_other_proposal(position: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return the distance of each proposal (N, S, 2) to the nearest other one for its point, (N, S); inf if none."""
    distance = np.linalg.norm(position[:, :, None] - position[:, None], axis=3)
    distance[~(found[:, :, None] & found[:, None])] = np.inf
    same = np.arange(position.shape[1])
    distance[:, same, same] = np.inf
    return distance.min(axis=2)


def cornerness(grey: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the smaller over the larger eigenvalue of the structure tensor at points (N, 2) of a uint8 grey frame.

    The values are above 0 and at most 1.
    """
    values = cv2.cornerEigenValsAndVecs(grey, CORNER_SIDE, 3)
    y, x = (np.clip(np.rint(points[:, i]).astype(int), 0, grey.shape[1 - i] - 1) for i in (1, 0))
    pair = values[y, x, :2].astype(np.float64)
    noise_floor = 1e-6  # smaller than the eigenvalues of image noise
    return (np.maximum(pair.min(axis=1), 0) + noise_floor) / (pair.max(axis=1) + noise_floor)
