"""Detect points to track in a frame: bright or dark particles, or corners.

Particles are detected as in Crocker and Grier [1]: the frame is band-pass filtered at the particle size, each local
maximum above the noise is a candidate, and its position is the centroid of the brightness in a window that is
recentred until convergence.  Corners are those of Shi and Tomasi [2], refined to sub-pixel positions, for photographs.

Positions are (x, y) in pixels; (0, 0) is the centre of the first pixel.

[1] Crocker, Grier. "Methods of digital video microscopy for colloidal studies." J. Colloid Interface Sci. 179, 1996.
[2] Shi, Tomasi. "Good features to track." CVPR 1994.
[3] Adler. "The geometry of random fields." Wiley, 1981.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from apps.common.images import InputError
from apps.tracking import DETECTORS, THRESHOLD
from apps.tracking.centroids import windowed_centroids

CANDIDATE_SIZES = (3, 5, 7, 9, 11, 15, 21, 31)  # pixels, tried if the particle size is not given
MAX_NOISE_SIDE = 400  # pixels: the noise of larger frames is measured on a regular grid of about this side
MAX_FALSE_PEAKS = 0.1  # per frame of noise alone, expected above the default threshold
MIN_COLOUR_SPREAD = 0.02  # mean range of the channels above which a frame is a photograph
MAX_STRONGEST = 50  # particles from which the size is estimated
MAX_CORNERS = 1000  # per frame
MIN_QUALITY = 0.01  # of the strongest corner


@dataclass(frozen=True, slots=True)
class Finder:
    """A point detector, the same for all frames of a sequence.

    Attributes
    ----------
    kind : {"bright", "dark", "corners"}
    size : int
        Particle diameter in pixels, odd; for corners the minimum distance between two.
    threshold : float
        Minimum band-passed brightness of a particle, in multiples of the noise.
    """

    kind: str
    size: int
    threshold: float = THRESHOLD

    def __call__(self, frame: np.ndarray):
        """Return positions (n, 2) and weights (n,) of the points in a float frame (H, W, 3) or (H, W).

        The weight of a particle is its band-passed brightness summed over the window; that of a corner is its smaller
        eigenvalue relative to the largest of the frame.
        """
        grey = to_grey(frame)
        if self.kind == "corners":
            return corners(grey, self.size)
        return particles(grey if self.kind == "bright" else -grey, self.size, self.threshold)


def choose_finder(
    frame: np.ndarray, kind: str = DETECTORS[0], size: int | None = None, threshold: float | None = None
) -> Finder:
    """Choose a detector for a frame, for the parameters left open.

    Colour frames use corners.  Grey frames use particles, bright or dark by the skewness of the band-passed frame, and
    the size at which the strongest particles stand out most, and the threshold that noise hardly ever exceeds
    (`noise_threshold`).  Raises InputError for invalid values.
    """
    if kind not in DETECTORS:
        raise InputError(f"kind must be one of {', '.join(DETECTORS)}; got {kind!r}")
    check_finder(size, threshold)
    if kind == "auto" and frame.ndim == 3 and np.ptp(frame, axis=2).mean() > MIN_COLOUR_SPREAD:
        kind = "corners"
    if kind == "corners":
        return Finder(kind, size or 7, THRESHOLD if threshold is None else threshold)
    grey = to_grey(frame)
    if kind == "auto":
        band = band_pass(grey, size or 7)
        kind = "dark" if (band**3).sum() < 0 else "bright"
    if size is None:
        size = _best_size(grey if kind == "bright" else -grey)
    size += (size + 1) % 2
    return Finder(kind, size, noise_threshold(grey.size, size) if threshold is None else threshold)


def check_finder(size, threshold, spelled: Callable[[str], str] = lambda name: name) -> None:
    """Raise InputError for a size or a threshold out of range; `spelled` gives their names in the messages."""
    if size is not None and not 1 <= size <= 999:
        raise InputError(f"{spelled('size')} must be 1 to 999 pixels, got {size}")
    if threshold is not None and not 0 < threshold < np.inf:
        raise InputError(f"{spelled('threshold')} must be above 0, got {threshold}")


def noise_threshold(pixels: int, size: int) -> float:
    """Return the default threshold of a frame: at least THRESHOLD, more for a frame of many pixels.

    The expected number of peaks of Gaussian noise above t times its standard deviation is, for large t,
    (2 pi)^(-3/2) t exp(-t^2 / 2) times the number of pixels over twice the variance of the fine filter in `band_pass`
    [3].  The threshold makes it at most MAX_FALSE_PEAKS.
    """
    density = pixels / (2 * fine_sigma(size) ** 2) / (2 * np.pi) ** 1.5
    threshold = THRESHOLD
    while density * threshold * np.exp(-(threshold**2) / 2) > MAX_FALSE_PEAKS:
        threshold += 0.1
    return round(threshold, 1)


def fine_sigma(size: int) -> float:
    """Return the standard deviation of the filter that smooths the noise, in pixels."""
    return max(0.7, size / 7)


def particles(grey: np.ndarray, size: int, threshold: float = THRESHOLD):
    """Detect bright particles of about `size` pixels in a frame (H, W); return positions (n, 2) and weights (n,)."""
    import cv2

    band = band_pass(grey, size)
    noise = noise_of(band)
    if not noise:
        return np.zeros((0, 2)), np.zeros(0)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    peak = (band >= cv2.dilate(band, disc)) & (band > threshold * noise)
    y, x = np.nonzero(peak)
    return _centroids(np.maximum(band, 0), x, y, size)


def _centroids(band, x, y, size: int):
    """Return the windowed centroids around pixels, and masses; those that leave their pixel's particle are dropped."""
    position, mass = windowed_centroids(band, x, y, size)
    is_near = np.abs(position - np.column_stack([x, y])).max(axis=1, initial=0) <= size / 2
    return _without_duplicates(position[is_near], mass[is_near], size / 2)


def _without_duplicates(position, mass, distance: float):
    """Remove duplicates: of positions closer than `distance`, keep the one with the largest mass."""
    from scipy.spatial import cKDTree

    order = np.argsort(-mass, kind="stable")
    position, mass = position[order], mass[order]
    keep = np.ones(len(position), bool)
    if len(position):
        for i, j in sorted(cKDTree(position).query_pairs(distance)):
            if keep[i]:
                keep[j] = False
    order = np.flatnonzero(keep)
    order = order[np.lexsort((position[order, 0], position[order, 1]))]
    return position[order], mass[order]


def corners(grey: np.ndarray, spacing: int):
    """Detect corners at least `spacing` pixels from each other; return positions (n, 2) and weights (n,)."""
    import cv2

    grey = _stretched(grey)
    found, weight = cv2.goodFeaturesToTrackWithQuality(grey, MAX_CORNERS, MIN_QUALITY, spacing, None)[:2]
    if found is None or not len(found):
        return np.zeros((0, 2)), np.zeros(0)
    small = min(grey.shape) < 13  # cornerSubPix needs its window inside the frame
    if not small:
        stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.01)
        found = cv2.cornerSubPix(grey, found, (3, 3), (-1, -1), stop)
    return found.reshape(-1, 2).astype(np.float64), np.asarray(weight, np.float64).reshape(-1)


def band_pass(grey: np.ndarray, size: int) -> np.ndarray:
    """Band-pass filter a frame (H, W) to keep structures of about `size` pixels."""
    import cv2

    fine = cv2.GaussianBlur(grey, (0, 0), fine_sigma(size), borderType=cv2.BORDER_REFLECT)
    return fine - cv2.GaussianBlur(grey, (0, 0), max(1.0, size / 2), borderType=cv2.BORDER_REFLECT)


def noise_of(band: np.ndarray) -> float:
    """Estimate the standard deviation of the noise by the median absolute deviation, robust to particles."""
    band = band[tuple(slice(None, None, max(1, side // MAX_NOISE_SIDE)) for side in band.shape)]
    return float(1.4826 * np.median(np.abs(band - np.median(band))))


def to_grey(frame: np.ndarray) -> np.ndarray:
    """Convert a frame (H, W, 3) in [0, 1], or a grey one (H, W), to float32 grey (H, W)."""
    if frame.ndim == 2:
        return np.ascontiguousarray(frame, np.float32)
    import cv2

    return cv2.cvtColor(np.ascontiguousarray(frame[..., :3], np.float32), cv2.COLOR_RGB2GRAY)


def _stretched(grey: np.ndarray) -> np.ndarray:
    """Stretch to the full range of uint8."""
    low, high = float(grey.min()), float(grey.max())
    return ((grey - low) * (255.0 / (high - low)) + 0.5 if high > low else np.zeros(grey.shape)).astype(np.uint8)


def _best_size(grey: np.ndarray) -> int:
    """Return the candidate size with the strongest peaks in the scale-normalised Laplacian [Lindeberg 1998]."""
    import cv2

    peaks = []
    sizes = [size for size in CANDIDATE_SIZES if size == CANDIDATE_SIZES[0] or 4 * size <= min(grey.shape)]
    for size in sizes:
        sigma = size / 4
        blurred = cv2.GaussianBlur(grey, (0, 0), sigma, borderType=cv2.BORDER_REFLECT)
        response = -(sigma**2) * cv2.Laplacian(blurred, cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
        peaks.append(np.sort(response[response >= cv2.dilate(response, disc)])[::-1])
    # Compare the same number of peaks per size, because small sizes have many noise peaks.
    count = max(1, min(MAX_STRONGEST, min(len(p) for p in peaks) // 2))
    return sizes[int(np.argmax([float(np.median(p[:count])) for p in peaks]))]
