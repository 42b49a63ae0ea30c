"""Centroids of particles in Gaussian windows centred on themselves, as SExtractor's windowed positions [1].

A centroid in a fixed window is biased towards the window's centre; recentring the window removes the bias.

[1] Bertin, Arnouts. "SExtractor: software for source extraction." A&A Supplement 117, 1996.
"""

import numpy as np

from gridcut.device import kernel, run_threads, thread_count

MAX_SHIFTS = 20  # of the window to the centroid; five are typical
SHIFT_TOLERANCE = 0.005  # pixels
MIN_PARTICLES_PER_THREAD = 256


def windowed_centroids(band: np.ndarray, x: np.ndarray, y: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the centroids (n, 2) around pixels x, y of a band-passed frame (H, W), and the sums in their windows (n,).

    `size` is the particle diameter; the standard deviation of the window is a quarter of it.
    """
    half = size // 2 + 1
    padded = np.pad(band, half)
    position = np.column_stack([x, y]).astype(np.float64)
    mass = np.zeros(len(x))
    threads = min(thread_count(), 1 + len(x) // MIN_PARTICLES_PER_THREAD)

    def some(thread):
        begin, end = len(x) * thread // threads, len(x) * (thread + 1) // threads
        centroid_kernel(begin, end, padded, half, size, position, mass)

    run_threads(some, threads)
    return position, mass


@kernel
def centroid_kernel(begin, end, padded, half, size, position, mass):
    """Move `position` begin to end, in place, to the centroid of its window until it moves no more."""
    H, W = padded.shape[0] - 2 * half, padded.shape[1] - 2 * half
    width = 2 * half + 1
    across, down = np.empty(width), np.empty(width)
    for p in range(begin, end):
        for _ in range(MAX_SHIFTS):
            column = min(max(int(np.rint(position[p, 0])), 0), W - 1)
            row = min(max(int(np.rint(position[p, 1])), 0), H - 1)
            left, top = column - half - position[p, 0], row - half - position[p, 1]
            for i in range(width):
                across[i] = np.exp(-8.0 * ((left + i) / size) ** 2)
                down[i] = np.exp(-8.0 * ((top + i) / size) ** 2)
            total, x_moment, y_moment = 0.0, 0.0, 0.0
            for j in range(width):
                in_row, moment = 0.0, 0.0
                for i in range(width):
                    value = padded[row + j, column + i] * across[i]
                    in_row += value
                    moment += value * (left + i)
                total += in_row * down[j]
                x_moment += moment * down[j]
                y_moment += in_row * down[j] * (top + j)
            mass[p] = total
            if total <= 0:
                break
            # The centroid of a Gaussian in a window of the same width is half-way to its centre, hence the 2.
            shift_x, shift_y = 2 * x_moment / total, 2 * y_moment / total
            position[p, 0] += min(max(shift_x, -1.0), 1.0)
            position[p, 1] += min(max(shift_y, -1.0), 1.0)
            if max(abs(shift_x), abs(shift_y)) <= SHIFT_TOLERANCE:
                break
