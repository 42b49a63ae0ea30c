"""The jobs of `cutmatch demo`: each yields rows of the table, and writes the figures of these rows."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # it imports numba
    from gridcut.device import DeviceName

STROKE_WIDTH = 7  # pixels
NOISE = 20.0  # standard deviation of what `restore` adds, of 255
PAIRS = (("astronaut", "warped_pair"), ("motorcycle", "stereo_pair"))  # name, function of apps.motion.samples


@dataclass(frozen=True, slots=True)
class Example:
    """An image of skimage.data, with strokes as polylines of (x, y), or with a box (x0, y0, x1, y1)."""

    name: str
    on_object: tuple = ()
    on_background: tuple = ()
    box: tuple | None = None


EXAMPLES = (
    Example(
        "astronaut",
        on_object=(
            ((225, 90), (222, 150), (215, 210), (190, 270), (90, 330), (40, 470)),
            ((215, 250), (300, 330), (420, 390), (470, 490)),
            ((180, 60), (225, 25), (275, 70)),
            ((200, 480), (340, 480)),
            ((50, 345), (120, 400), (300, 420)),
            ((140, 210), (180, 160), (270, 180)),
            ((160, 156), (138, 166), (128, 190), (134, 215)),
            ((372, 352), (410, 352), (455, 380), (484, 425), (494, 450)),
            ((490, 470), (500, 500)),
            ((160, 480), (182, 490)),
            ((38, 338), (34, 372)),
            ((122, 248), (136, 268)),
            ((286, 498), (306, 503)),
        ),
        on_background=(
            ((12, 200), (20, 20), (110, 15), (130, 130), (120, 230)),
            ((310, 20), (300, 140), (330, 220)),
            ((345, 10), (430, 12), (500, 20), (500, 330)),
            ((360, 60), (420, 220), (480, 300)),
            ((40, 140), (70, 200), (15, 300)),
            ((380, 280), (420, 305), (505, 310)),
            ((5, 285), (5, 350), (8, 420)),
            ((378, 335), (420, 332), (470, 358), (500, 400)),
        ),
    ),
    Example("coffee", box=(68, 8, 492, 392)),
    Example(
        "chelsea",
        on_object=(
            ((20, 290), (60, 200), (110, 130), (200, 100), (280, 110), (330, 190), (290, 280)),
            ((40, 30), (110, 40), (215, 60)),
            ((335, 25), (310, 60), (230, 20)),
            ((100, 270), (230, 280), (330, 285)),
        ),
        on_background=(((440, 20), (430, 120), (440, 280)), ((400, 60), (390, 120))),
    ),
    Example("rocket", box=(255, 15, 400, 400)),
)


def strokes_of(example: Example, shape) -> np.ndarray:
    """Marks (H, W) of an example's polylines."""
    import cv2

    from apps.segment.marks import BACKGROUND, OBJECT, OPEN

    marks = np.full(shape, OPEN, np.int8)
    for lines, mark in ((example.on_background, BACKGROUND), (example.on_object, OBJECT)):
        for line in lines:
            cv2.polylines(marks, [np.array(line, np.int32)], False, int(mark), STROKE_WIDTH)
    return marks


def row(job: str, name: str, shape, given: str, found: str, measured: dict, seconds: float, method: str, files) -> dict:
    """Row of the table and the report, with the numbers `measured` after the text `found` about them."""
    row = {"job": job, "image": name, "width": shape[1], "height": shape[0], "given": given, "found": found}
    return row | measured | {"seconds": round(seconds, 3), "method": method, "files": [str(path) for path in files]}


def segment_example(example: Example, folder: Path, device: "DeviceName") -> dict:
    """Segment an example and write its figures; return a row of the table."""
    import skimage.data

    from apps.common.figures import overlay, side_by_side, with_marks
    from apps.common.images import to_rgb, write_image
    from apps.segment import segment_marked
    from apps.segment.hints import ObjectOptions
    from apps.segment.matte import cut_out
    from apps.segment.strokes import marks_of_box

    rgb = to_rgb(getattr(skimage.data, example.name)())
    shape = rgb.shape[:2]
    marks = strokes_of(example, shape) if example.box is None else marks_of_box(example.box, shape)
    start = time.perf_counter()
    result = segment_marked(rgb, marks, ObjectOptions(fill_holes=True), device=device)
    seconds = time.perf_counter() - start
    cutout = cut_out(rgb, result.mask)
    figure = side_by_side(with_marks(rgb, marks), overlay(rgb, result.mask), on_checkerboard(cutout))
    files = [
        write_image(folder / f"{example.name}-segment.png", figure),
        write_image(folder / f"{example.name}-cutout.png", cutout),
    ]
    share, energy = 100.0 * float(result.mask.mean()), result.energies[-1]
    given = f"{len(example.on_object + example.on_background)} strokes" if example.box is None else "a box"
    found = f"{share:.1f} % object, energy {energy:.0f}"
    measured = {"rounds": len(result.energies), "energy": round(energy, 1), "object_percent": round(share, 1)}
    method = f"{result.device}, {result.method}"
    return row("segment", example.name, shape, given, found, measured, seconds, method, files)


def segment_examples(folder: Path, device: "DeviceName"):
    """Rows of the examples."""
    for example in EXAMPLES:
        yield segment_example(example, folder, device)


def compute_flow(name: str, sample, folder: Path, device: "DeviceName") -> dict:
    """Compute the flow between two frames and write its figure; return a row of the table."""
    from apps.common.figures import side_by_side
    from apps.common.images import to_rgb, write_image
    from apps.flow import flow
    from apps.flow import flow_figures as drawing
    from apps.flow.flow_scores import score_flow

    start = time.perf_counter()
    result = flow(sample.first, sample.second, device=device)
    seconds = time.perf_counter() - start
    scores = score_flow(result.flow, sample.flow, sample.known).as_dict()
    longest = float(np.hypot(sample.flow[..., 0], sample.flow[..., 1])[sample.known].max())
    figure = side_by_side(
        drawing.arrows(to_rgb(sample.first), result.flow, result.valid),
        drawing.flow_figure(result.flow, max_motion=longest),
        drawing.flow_figure(np.where(sample.known[..., None], sample.flow, np.nan), max_motion=longest),
    )
    files = [write_image(folder / f"{name}-flow.png", figure)]
    found = f"{len(result.matches)} matches, EPE {scores['epe']:.2f} px"
    measured = {"matches": len(result.matches), "epe": round(scores["epe"], 4)}
    return row("flow", name, sample.known.shape, "2 frames", found, measured, seconds, "exact assignment", files)


def compute_flows(folder: Path, device: "DeviceName"):
    """Rows of the pairs of frames."""
    from apps.motion import samples

    for name, sample in PAIRS:
        yield compute_flow(name, getattr(samples, sample)(), folder, device)


def divide_into_superpixels(rgb: np.ndarray, name: str, folder: Path, regions: int = 500) -> dict:
    """Divide an image into superpixels and write a figure; return a row of the table."""
    from apps.common.figures import side_by_side
    from apps.common.images import to_rgb, write_image
    from apps.superpixels import superpixels
    from apps.superpixels.regions import mean_figure, outline_figure

    found = superpixels(rgb, regions)
    rgb = to_rgb(rgb)
    figure = side_by_side(outline_figure(rgb, found.labels), mean_figure(rgb, found.labels))
    files = [write_image(folder / f"{name}-superpixels.png", figure)]
    text, seconds = f"{found.regions} regions", found.seconds["total"]
    return row("superpix", name, rgb.shape, "", text, {"regions": found.regions}, seconds, "greedy matching", files)


def restore(clean: np.ndarray, name: str, folder: Path, device: "DeviceName") -> dict:
    """Add noise to a grey image, denoise it and write a figure of both; return a row of the table."""
    from skimage.metrics import peak_signal_noise_ratio

    from apps.common.figures import side_by_side
    from apps.common.images import to_bytes, write_image
    from apps.denoise import denoise

    noise = np.random.default_rng(0).normal(0.0, NOISE, clean.shape)
    noisy = np.clip(np.rint(clean + noise), 0, 255).astype(np.uint8)
    start = time.perf_counter()
    restored = to_bytes(denoise(noisy, device=device).image)
    seconds = time.perf_counter() - start
    before, after = (peak_signal_noise_ratio(clean, image) for image in (noisy, restored))
    figure = side_by_side(*(np.repeat(p[..., None], 3, axis=2) for p in (noisy, restored)))
    files = [write_image(folder / f"{name}-denoised.png", figure)]
    given, found = f"noise of {NOISE:.0f}", f"PSNR {before:.1f} -> {after:.1f} dB"
    measured = {"psnr": round(float(after), 2)}
    return row("denoise", name, clean.shape, given, found, measured, seconds, "exact cuts", files)


def compute_disparities(sample, name: str, folder: Path) -> dict:
    """Compute the disparities of a pair with horizontal motion and write a figure; return a row of the table."""
    from apps.common.figures import side_by_side
    from apps.common.images import to_bytes, to_rgb, write_image
    from apps.stereo import stereo
    from apps.stereo.disparity_figures import disparity_figure

    truth = np.where(sample.known, -sample.flow[..., 0], np.nan)
    most = float(np.nanmax(truth))
    start = time.perf_counter()
    found = stereo(sample.first, sample.second)
    seconds = time.perf_counter() - start
    off = np.abs(found.disparity - truth)[sample.known] > 1
    drawn = disparity_figure(found.disparity, most)  # with the scale below
    below = len(drawn) - len(truth)
    pair = (
        np.pad(to_bytes(to_rgb(image)), ((0, below), (0, 0), (0, 0)), constant_values=255)
        for image in (sample.first, sample.second)
    )
    figure = side_by_side(*pair, drawn, disparity_figure(np.nan_to_num(truth), most))
    files, share = [write_image(folder / f"{name}-stereo.jpg", figure)], 100.0 * float(off.mean())
    text, measured = f"{share:.1f} % off by more than 1 px", {"bad_percent": round(share, 2)}
    return row("stereo", name, truth.shape, "2 images", text, measured, seconds, "alpha-expansion", files)


def label_and_restore(folder: Path, device: "DeviceName"):
    """Rows of the superpixels and of the denoised image."""
    import skimage.data

    yield divide_into_superpixels(skimage.data.astronaut(), "astronaut", folder)
    yield restore(skimage.data.camera(), "camera", folder, device)


def compute_real_disparities(folder: Path, device: "DeviceName"):
    """The row of a pair of photographs."""
    from apps.motion import samples

    yield compute_disparities(samples.stereo_pair(), "motorcycle", folder)


def compute_exact_disparities(folder: Path, device: "DeviceName"):
    """The row of a pair whose disparities are known exactly: an object before a slanted wall."""
    import skimage.data

    from apps.common.images import to_rgb
    from apps.segment import segment_marked
    from apps.segment.hints import ObjectOptions
    from apps.segment.strokes import marks_of_box
    from apps.stereo.stereo_samples import layered_pair

    photo = np.ascontiguousarray(skimage.data.coffee())
    marks = marks_of_box(EXAMPLES[1].box, photo.shape[:2])
    cup = segment_marked(to_rgb(photo), marks, ObjectOptions(fill_holes=True)).mask
    yield compute_disparities(layered_pair(photo, cup), "coffee", folder)


def on_checkerboard(rgba: np.ndarray) -> np.ndarray:
    """uint8 RGB of an RGBA image over a grey checkerboard, as image viewers show transparency."""
    y, x = np.indices(rgba.shape[:2]) // 16
    board = np.where((x + y) % 2, 200.0, 235.0)[..., None]
    alpha = rgba[..., 3:] / 255.0
    return (alpha * rgba[..., :3] + (1 - alpha) * board + 0.5).astype(np.uint8)


# A job is called with the folder and the device, and yields rows of the table.  Jobs of one list use the same kernels,
# or those that the other list has compiled by then, and both lists take about the same time.
JOBS = (segment_examples, label_and_restore, compute_exact_disparities)
SECOND_JOBS = (compute_real_disparities, compute_flows)
