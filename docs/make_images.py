"""Make the figures of the guide, docs/images/guide-*, from the files of data/:  python docs/make_images.py [NAME ...]

Run it in the root of a clone.  docs/images/README.md names the programs that make the other figures.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from apps.common.figures import caption, enlarged, overlay, side_by_side, stacked, strokes_figure
from apps.common.images import to_bytes, to_rgb
from apps.segmentation.marks import OBJECT
from apps.segmentation.matte import cut_out

ROOT = Path(__file__).resolve().parents[1]
DATA, IMAGES = ROOT / "data", ROOT / "docs/images"
WIDTH = 960  # maximum width of a figure in pixels


def panels(named: Mapping[str, np.ndarray], width: int = WIDTH) -> np.ndarray:
    """Figures next to each other, each above its name, reduced to `width` pixels in all."""
    figures, height = list(named.values()), width // 80
    share = min(1.0, (width - 4 * len(figures)) / sum(figure.shape[1] for figure in figures))
    figures = [cv2.resize(figure, None, fx=share, fy=share, interpolation=cv2.INTER_AREA) for figure in figures]
    lowest = max(map(len, figures))
    columns = []
    for figure, name in zip(figures, named, strict=True):
        line = np.full((2 * height, figure.shape[1], 3), 255, np.uint8)
        words = caption(name, height)[:, : figure.shape[1]]
        left = (figure.shape[1] - words.shape[1]) // 2
        line[:, left : left + words.shape[1]] = words
        padded = np.pad(figure, ((0, lowest - len(figure)), (0, 0), (0, 0)), constant_values=255)
        columns.append(np.concatenate((padded, line)))
    return side_by_side(*columns)


def photo(name: str | Path) -> np.ndarray:
    return np.asarray(Image.open(DATA / name))


def grey(values: np.ndarray) -> np.ndarray:
    """RGB of values from 0 to 255."""
    return np.repeat(np.clip(values, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


def segment_sheet(rgb: np.ndarray, marks: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """An image with its strokes, the overlay of the object, and the object on a checkerboard; uint8 RGB."""
    given = "strokes: object red, background blue" if (marks == OBJECT).any() else "a box"
    found = {"object found": overlay(rgb, mask), "cut-out": on_checkerboard(cut_out(rgb, mask))}
    return panels({given: strokes_figure(rgb, marks)} | found)


def on_checkerboard(rgba: np.ndarray) -> np.ndarray:
    """uint8 RGB of an RGBA image over a grey checkerboard, as image viewers show transparency."""
    y, x = np.indices(rgba.shape[:2]) // 16
    board = np.where((x + y) % 2, 200.0, 235.0)[..., None]
    alpha = rgba[..., 3:] / 255.0
    return (alpha * rgba[..., :3] + (1 - alpha) * board + 0.5).astype(np.uint8)


def flow_sheet(frame: np.ndarray, found, truth: np.ndarray, known: np.ndarray) -> np.ndarray:
    """A result of `flow` as arrows and in colours, and the true flow where it is known; uint8 RGB."""
    from apps.optical_flow.flow_figures import arrows, keyed_figure

    longest = float(np.hypot(truth[..., 0], truth[..., 1])[known].max())
    figures = {
        "first frame, and its motion": arrows(to_rgb(frame), found.flow, found.valid),
        "motion found": keyed_figure(found.flow, longest),
        "true motion": keyed_figure(np.where(known[..., None], truth, np.nan), longest),
    }
    return panels(figures)


def stereo_sheet(left: np.ndarray, disparity: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The left image of a pair, the disparities found, and the true ones, NaN where unknown; uint8 RGB."""
    from apps.stereo_matching.disparity_figures import disparity_figure, ends_of

    figures = {"left image": to_bytes(to_rgb(left))}
    for name, values in (("disparities found", disparity), ("true disparities", truth)):
        figures[name] = disparity_figure(values, ends_of(truth))
    return panels(figures)


def segment_figure():
    from apps import segment
    from apps.segmentation.strokes import read_strokes

    image, strokes = photo("astronaut.jpg"), read_strokes(DATA / "astronaut-strokes.png")
    return segment_sheet(to_rgb(image), strokes, segment(image, strokes=strokes, fill_holes=True).mask)


def objects_figure():
    folder = written("segment", "astronaut.jpg", "--label-strokes", "astronaut-label-strokes.png")
    kinds = {"strokes: a colour for each object": "strokes", "objects found": "overlay"}
    return panels({name: photo(folder / f"astronaut-{kind}.png") for name, kind in kinds.items()})


def volumes_figure():
    return photo(written("segment", "scan.nii.gz", "--label-strokes", "scan-label-strokes.nii.gz") / "scan-slices.png")


def video_figure():
    import cv2

    from apps import segment_video

    video = cv2.VideoCapture(str(DATA / "clip.mp4"))
    frames = [frame[..., ::-1] for good, frame in iter(video.read, (False, None)) if good]
    found = segment_video(frames, {0: photo("clip-strokes.png")})
    shown = [overlay(to_rgb(frame), one.mask) for frame, one in zip(frames, found, strict=True)]
    return panels({f"frame {number}": shown[number] for number in (0, 4, 8, 11)})


def flow_figure():
    from apps import flow
    from apps.optical_flow.flow_files import read_flow

    first, second = photo("frame1.png"), photo("frame2.png")
    return flow_sheet(first, flow(first, second), *read_flow(DATA / "frame1-flow.png"))


def written(command: str, *arguments: str) -> Path:
    """Folder of the files that a command writes."""
    import tempfile

    from apps.cli import main

    folder = Path(tempfile.mkdtemp())
    assert main([command, *(str(DATA / a) if (DATA / a).exists() else a for a in arguments), "--out", str(folder)]) == 0
    return folder


def match_figure():
    return photo(written("match", "view1.jpg", "view2.jpg") / "view1-view2-matches.png")


def track_figure():
    return photo(written("track", "particles") / "particles-trails.png")


def superpixels_figure():
    from skimage.color import label2rgb

    from apps.regions.regions import outline_figure, superpixels

    image = photo("chelsea.jpg")
    labels = superpixels(image).labels
    means = label2rgb(labels + 1, image, kind="avg")
    return panels({"500 regions": outline_figure(image, labels), "mean colours": means})


def denoise_figure():
    from apps import denoise

    scratched, noisy, flipped = photo("chelsea-scratched.png"), photo("coffee-noisy.png"), photo("silhouette.png")
    names = "scratches filled", "noise removed", "wrong pixels corrected"
    seen = slice(20, 144)  # rows, so that the first picture is as wide as a tile of the front page
    found = (
        denoise(scratched[seen], mask=photo("chelsea-scratches.png")[seen] > 0),
        denoise(noisy),
        denoise(flipped, binary=True),
    )
    columns = {}
    for name, image, result in zip(names, (scratched[seen], noisy, flipped), found, strict=True):
        pair = (values if values.ndim == 3 else grey(values) for values in (image, to_bytes(np.asarray(result.image))))
        pictures = (np.asarray(Image.fromarray(one).resize((one.shape[1] * 200 // len(one), 200))) for one in pair)
        columns[name] = stacked(*pictures, gap=4)
    return panels(columns)


def stereo_figure():
    from apps import stereo
    from apps.stereo_matching.disparity_files import read_disparity

    left, right = photo("left.png"), photo("right.png")
    return stereo_sheet(left, stereo(left, right).disparity, read_disparity(DATA / "left-disparity.png")[0])


def gridcut_figure():
    import gridcut

    rng = np.random.default_rng(0)
    truth = np.add.outer(np.arange(200) // 50, np.arange(300) // 50) % 2 == 1
    noisy = truth ^ (rng.random(truth.shape) < 0.3)
    cut = gridcut.max_flow(np.where(noisy, 100, 0), np.where(noisy, 0, 100), {(0, 1): 60, (1, 0): 60})
    cut.check()
    return panels({"30 % of the pixels flipped": grey(noisy * 255), "minimum cut": grey(cut.labels * 255)})


def energies_figure():
    import gridcut

    noisy = np.asarray(Image.open(DATA / "coffee-noisy.png").convert("L")).astype(int)
    levels = np.arange(0, 256, 32)
    steps = np.minimum(np.abs(np.subtract.outer(range(8), range(8))), 3)
    weights = dict.fromkeys(gridcut.neighbourhood(4), 20)
    found = gridcut.alpha_expansion(np.abs(levels[:, None, None] - noisy), weights, steps)
    return panels({"noisy": grey(noisy), "eight grey levels of least energy": grey(levels[found.labels])})


def published_figure():
    """A cat by the energies of classes F2 and F3."""
    import gridcut
    from apps.segmentation.published_energy import energy_of_strokes
    from apps.segmentation.strokes import read_strokes

    rgb, strokes = photo("chelsea.jpg"), read_strokes(DATA / "chelsea-strokes.png")
    found = {}
    for kind, name in (("f2", "terms of two pixels"), ("f3", "terms of three pixels")):
        labels = gridcut.binary_minimum(energy_of_strokes(rgb, strokes, kind)).labels
        found[name] = overlay(to_rgb(rgb), labels)
    return panels(found)


def windows_figure():
    """Matches of assignments in windows, and the flow computed from them."""
    import cv2

    from apps.motion.windows import WINDOW_SIDE, match_windows

    first, second = photo("frame1.png"), photo("frame2.png")
    found = match_windows(first, second, device="cpu", method="lock_free").matches
    shown = first // 2 + 100
    shown[::WINDOW_SIDE], shown[:, ::WINDOW_SIDE] = 255, 255
    for start, end in zip(np.rint(found.first).astype(int), np.rint(found.second).astype(int), strict=True):
        cv2.arrowedLine(shown, start.tolist(), end.tolist(), (190, 30, 30), 1, cv2.LINE_AA, tipLength=0.3)
    options = ["--linker", "windows", "--method", "lock_free", "--quiet"]
    flow = photo(written("flow", "frame1.png", "frame2.png", *options) / "frame1-colour.png")
    return panels({"matches within windows": shown, "motion of every pixel": flow})


def assignments_figure():
    import cv2

    import assign

    rng = np.random.default_rng(0)
    first = rng.random((60, 2))
    second = np.concatenate([first[:50] + rng.normal(0, 0.02, (50, 2)), rng.random((6, 2))])
    found = assign.solve(np.linalg.norm(first[:, None] - second, axis=2), max_cost=0.1)
    scale, image = 4 * 480, np.full((4 * 520, 4 * 520, 3), 255, np.uint8)

    def at(point):
        return tuple(int(v) for v in 80 + scale * point)

    for i, j in zip(found.row, found.col, strict=True):
        cv2.line(image, at(first[i]), at(second[j]), (120, 120, 120), 5, cv2.LINE_AA)
    for points, colour in ((first, (200, 60, 40)), (second, (40, 90, 200))):
        for point in points:
            cv2.circle(image, at(point), 14, colour, -1, cv2.LINE_AA)
    return cv2.resize(image, (520, 520), interpolation=cv2.INTER_AREA)


INK = (40, 60, 110)


def graphs_figure():
    import matching

    graph = matching.read_graph(DATA / "jacobian.mtx")
    entries, form = graph.toarray()[..., None] != 0, matching.dulmage_mendelsohn(graph)
    forms = {"a sparse matrix": entries, "its block triangular form": entries[form.row_perm][:, form.col_perm]}
    return panels({name: enlarged(np.where(one, INK, 255).astype(np.uint8), 5) for name, one in forms.items()})


def refine_figure():
    from apps import refine

    image, low = photo("chelsea.jpg"), np.asarray(Image.open(DATA / "chelsea-soft.png"))
    size = image.shape[1::-1]
    soft = np.asarray(Image.fromarray(low).resize(size, Image.Resampling.NEAREST))
    found = overlay(to_rgb(image), refine(image, low).mask)
    return panels({"soft mask of 64 x 43 pixels": grey(soft), "outline found": found})


FIGURES = {
    "astronaut-segment.png": segment_figure,
    "guide-segment.jpg": segment_figure,
    "guide-refine.jpg": refine_figure,
    "guide-objects.jpg": objects_figure,
    "guide-volumes.jpg": volumes_figure,
    "guide-video.jpg": video_figure,
    "guide-flow.jpg": flow_figure,
    "guide-match.jpg": match_figure,
    "guide-track.png": track_figure,
    "guide-superpixels.jpg": superpixels_figure,
    "guide-denoise.jpg": denoise_figure,
    "guide-stereo.jpg": stereo_figure,
    "guide-gridcut.png": gridcut_figure,
    "guide-energies.png": energies_figure,
    "guide-flow-and-matching.jpg": published_figure,
    "guide-flow-windows.jpg": windows_figure,
    "guide-assignments.png": assignments_figure,
    "guide-graphs.png": graphs_figure,
}


def main(names: list[str]) -> None:
    for name in names or FIGURES:
        figure = Image.fromarray(np.ascontiguousarray(FIGURES[name]()))
        if figure.width > WIDTH:
            figure = figure.resize((WIDTH, round(figure.height * WIDTH / figure.width)), Image.Resampling.LANCZOS)
        figure.save(IMAGES / name, **({"quality": 85} if name.endswith("jpg") else {"optimize": True}))
        print(name, figure.size, (IMAGES / name).stat().st_size)


if __name__ == "__main__":
    main(sys.argv[1:])
