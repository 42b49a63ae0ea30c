"""`python -m benchmarks track`: frames per second of `cutmatch track` for 30, 300 and 3000 particles.

The movies are made here: bright particles of 9 pixels on a noisy ground, each of which moves by about a pixel per
frame; --frames frames of --side x --side pixels, stored as .npy.  `cutmatch track` detects and links the particles and
writes its table and figure; the milliseconds per frame are those of its record, on the run with the least total of
--repeats, after one untimed run.  "right" is the share of links between two detections of one particle, of all such
links of successive frames.  The links are those of `apps.track` on the same detections, whose assignments are certified
before the row is printed.  A second table has identity switches of simulated particles, see track_identities.py, with
trackpy if it is installed.
"""

import contextlib
import json
import tempfile
from pathlib import Path

import numpy as np

import assign
from apps.tracking import track_command
from apps.tracking.tracking import track
from benchmarks import command, track_identities
from benchmarks.kept_results import Kept
from benchmarks.table import markdown

COUNTS = (30, 300, 3000)
SIZE = 9  # pixels: diameter of a particle
SPREAD = 2.0  # pixels: standard deviation of its image
STEP = 0.7  # pixels: standard deviation of its motion, on each axis, per frame
GROUND, BRIGHTNESS, NOISE = 20.0, 180.0, 3.0  # grey levels
SEARCH_RANGE = 4.0  # pixels
MARGIN = 12  # pixels along the border without particles


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin("Tracking", ["opencv-python-headless", "scipy", "trackpy", "numba", "numpy"])
    with tempfile.TemporaryDirectory() as folder:
        rows = command.shown(measured(Path(folder), count, options) for count in COUNTS)
    columns = ["points", "detected", "links", "right %", "ms a frame", "frames/s"]
    title = f"## {options.frames} frames of {options.side} × {options.side} pixels"
    particles = f"## {track_identities.COUNT} particles, sums over {track_identities.SEEDS} simulations"
    identities = markdown(track_identities.COLUMNS, list(track_identities.rows()))
    return command.finish(report, f"{title}\n\n{markdown(columns, rows)}\n{particles}\n\n{identities}", options.save)


def particles_in_motion(count, frames, side):
    """A movie, uint8 (T, H, W), and the positions (T, count, 2) of its particles."""
    rng = np.random.default_rng(0)
    cells = int(np.ceil(count**0.5))
    spacing = (side - 2 * MARGIN) / cells
    grid = np.stack(np.meshgrid(np.arange(cells), np.arange(cells)), axis=-1).reshape(-1, 2)
    position = MARGIN + spacing * (rng.permutation(grid)[:count] + rng.uniform(0.35, 0.65, (count, 2)))
    movie, truth = np.empty((frames, side, side), np.uint8), np.empty((frames, count, 2))
    offset = np.arange(-SIZE, SIZE + 1)
    for number in range(frames):
        truth[number] = position
        frame = np.full((side, side), GROUND, np.float32)
        frame += rng.normal(0, NOISE, frame.shape)
        centre = np.rint(position).astype(int)
        for (x, y), off in zip(centre, centre - position, strict=True):
            rows, columns = y + offset, x + offset
            inside = [(line >= 0) & (line < side) for line in (rows, columns)]
            across, down = (np.exp(-((offset + shift) ** 2) / (2 * SPREAD**2)) for shift in off)
            spot = BRIGHTNESS * np.outer(down[inside[0]], across[inside[1]])
            frame[np.ix_(rows[inside[0]], columns[inside[1]])] += spot
        movie[number] = np.clip(frame, 0, 255)
        position = np.clip(position + rng.normal(0, STEP, position.shape), MARGIN, side - 1 - MARGIN)
    return movie, truth


def measured(folder, count, options):
    """The row of a movie, which is written to `folder`."""
    frames = options.frames
    movie, truth = particles_in_motion(count, frames, options.side)
    np.save(folder / "movie.npy", movie)
    arguments = [folder / "movie.npy", "--out", folder / "out", "--json", folder / "report.json", "--quiet"]
    arguments += ["--overwrite", "--device", "cpu"]
    arguments += ["--detect", "bright", "--size", SIZE, "--search-range", SEARCH_RANGE]
    reports = []
    for _ in range(1 + options.repeats):
        if track_command.main([*map(str, arguments)]) != 0:
            raise RuntimeError(f"cutmatch track failed on {count} particles")
        reports.append(json.loads((folder / "report.json").read_text("utf-8")))
    best = min(reports[1:], key=lambda report: report["elapsed"]["total"])
    right = right_links(np.genfromtxt(folder / "out" / "movie-tracks.csv", delimiter=",", names=True), truth)
    shown = [str(count), str(best["detections"]), str(best["links"]), f"{100 * right:.2f}"]
    total = best["elapsed"]["total"]
    return [*shown, f"{1000 * total / frames:.2f}", f"{frames / total:.1f}"]


def right_links(table, truth):
    """Certify the assignments of a table's detections; return the share of right links of all there are."""
    frame = table["frame"].astype(int)
    position = np.column_stack([table["x"], table["y"]])
    per_frame = [position[frame == number] for number in range(len(truth))]
    with Kept(assign, "solve") as assignments:
        tracks = track(per_frame, search_range=SEARCH_RANGE, device="cpu")
        assignments.check()
    identity = _identities(tracks.detections, truth)
    one, two = identity[tracks.link[:, 0]], identity[tracks.link[:, 1]]
    here = [identity[tracks.detections.frame == number] for number in range(len(truth))]
    there_are = sum(len(np.intersect1d(a[a >= 0], b[b >= 0])) for a, b in zip(here, here[1:], strict=False))
    return float(((one == two) & (one >= 0)).sum() / max(there_are, 1))


def _identities(detections, truth):
    """The particle within half a diameter of each detection, -1 if there is none."""
    from scipy.spatial import cKDTree

    identity = np.full(len(detections), -1)
    for number, positions in enumerate(truth):
        here = np.flatnonzero(detections.frame == number)
        with contextlib.suppress(ValueError):  # a frame without detections
            distance, nearest = cKDTree(positions).query(detections.position[here])
            identity[here] = np.where(distance < SIZE / 2, nearest, -1)
    return identity


def _parser():
    parser = command.parser("track", __doc__, "track-cpu", repeats=3)
    parser.add_argument("--frames", type=int, default=100, metavar="N", help="frames of each movie (default: 100)")
    parser.add_argument("--side", type=int, default=1024, metavar="PIXELS", help="side of a frame (default: 1024)")
    return parser
