"""The jobs of `cutmatch demo`: each yields rows of the table, and writes the figures of these rows."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.clock import COMPILE, TOTAL, Clock

if TYPE_CHECKING:  # it imports numba
    from gridcut.device import DeviceName

NOISE = 20.0  # standard deviation of what `restore` adds, of 255
PAIRS = (("astronaut", "warped_pair"), ("motorcycle", "stereo_pair"))  # name, function of apps.motion.samples
# Images of skimage.data, with a box (x0, y0, x1, y1); None: the strokes of the sample files.
EXAMPLES = {"astronaut": None, "coffee": (74, 14, 483, 392), "chelsea": None, "rocket": None}


def samples_folder() -> Path:
    """The folder of the sample files: data/, which a wheel has in apps/samples."""
    folder = Path(__file__).with_name("samples")
    return folder if folder.is_dir() else Path(__file__).parents[1] / "data"


def marks_of_example(name: str, shape: tuple[int, int]) -> np.ndarray:
    """Marks (H, W) of an example: 1 on the object, 0 on the background, -1 elsewhere."""
    from apps.segmentation.strokes import marks_of_box, read_strokes

    if box := EXAMPLES[name]:
        return marks_of_box(box, shape)
    return read_strokes(samples_folder() / f"{name}-strokes.png")


def row(job: str, name: str, shape, given: str, found: str, measured: dict, seconds: dict, method: str, files) -> dict:
    """Row of the table and the report, with the numbers `measured` after the text `found` about them.

    `seconds` are those of the method's clock.
    """
    compiling = seconds.get(COMPILE, 0.0)
    times = {"seconds": round(seconds[TOTAL] - compiling, 3), "compiling": round(compiling, 3)}
    row = {"job": job, "image": name, "width": shape[1], "height": shape[0], "given": given, "found": found}
    return row | measured | times | {"method": method, "files": [str(path) for path in files]}


def segment_examples(folder: Path, device: "DeviceName"):
    """Segment the examples and write their figures; rows of the table."""
    import skimage.data

    from apps.common.images import to_rgb, write_image
    from apps.segmentation.hints import Hints, ObjectOptions
    from apps.segmentation.matte import cut_out
    from apps.segmentation.segmentation import segment_marked

    for name, box in EXAMPLES.items():
        rgb = to_rgb(getattr(skimage.data, name)())
        shape = rgb.shape[:2]
        marks = marks_of_example(name, shape)
        clock = Clock()
        result = segment_marked(rgb, Hints(marks, options=ObjectOptions(fill_holes=True)), device=device)
        clock.charge("method")
        seconds = clock.total()
        files = [
            write_image(folder / f"{name}-segment.png", segment_sheet(rgb, marks, result.mask)),
            write_image(folder / f"{name}-cutout.png", cut_out(rgb, result.mask)),
        ]
        share, energy = 100.0 * float(result.mask.mean()), result.energies[-1]
        given = "a box" if box else "strokes"
        found = f"{share:.1f} % object, energy {energy:.0f}"
        measured = {"rounds": len(result.energies), "energy": round(energy, 1), "object_percent": round(share, 1)}
        method = f"{result.device}, {result.method}"
        yield row("segment", name, shape, given, found, measured, seconds, method, files)


def sheet(figures: dict[str, np.ndarray], width: int | None = None) -> np.ndarray:
    """Figures side by side, under their names, and the whole as wide as a page or `width` pixels."""
    from apps.common.figures import SHEET, panels

    return panels(figures, width or SHEET)


def segment_sheet(rgb: np.ndarray, marks: np.ndarray, mask: np.ndarray, width: int | None = None) -> np.ndarray:
    """An image with its strokes, the overlay of the object, and the object on a checkerboard; uint8 RGB."""
    from apps.common.figures import overlay, strokes_figure
    from apps.segmentation.marks import OBJECT
    from apps.segmentation.matte import cut_out

    given = "strokes: object red, background blue" if (marks == OBJECT).any() else "a box"
    found = {"object found": overlay(rgb, mask), "cut-out": on_checkerboard(cut_out(rgb, mask))}
    return sheet({given: strokes_figure(rgb, marks)} | found, width)


def compute_flows(folder: Path, device: "DeviceName"):
    """Compute the flow of pairs of frames and write its figures; rows of the table."""
    from apps import flow
    from apps.common.images import write_image
    from apps.motion import samples
    from apps.optical_flow.flow_scores import score_flow

    for name, function in PAIRS:
        sample = getattr(samples, function)()
        clock = Clock()
        result = flow(sample.first, sample.second, device=device)
        clock.charge("method")
        seconds = clock.total()
        scores = score_flow(result.flow, sample.flow, sample.known).rounded()
        files = [write_image(folder / f"{name}-flow.png", flow_sheet(sample.first, result, sample.flow, sample.known))]
        found = f"{len(result.matches)} matches, EPE {scores['epe']:.2f} px"
        measured = {"matches": len(result.matches), "epe": round(scores["epe"], 4)}
        yield row("flow", name, sample.known.shape, "2 frames", found, measured, seconds, "exact assignment", files)


def flow_sheet(frame: np.ndarray, found, truth: np.ndarray, known: np.ndarray, width: int | None = None) -> np.ndarray:
    """A result of `flow` as arrows and in colours, and the true flow where it is known; uint8 RGB."""
    from apps.common.images import to_rgb
    from apps.optical_flow.flow_figures import arrows, keyed_figure

    longest = float(np.hypot(truth[..., 0], truth[..., 1])[known].max())
    figures = {
        "first frame, and its motion": arrows(to_rgb(frame), found.flow, found.valid),
        "motion found": keyed_figure(found.flow, longest),
        "true motion": keyed_figure(np.where(known[..., None], truth, np.nan), longest),
    }
    return sheet(figures, width)


def divide_into_superpixels(rgb: np.ndarray, name: str, folder: Path, regions: int = 500) -> dict:
    """Divide an image into superpixels and write a figure; return a row of the table."""
    from apps import superpixels
    from apps.common.images import to_rgb, write_image
    from apps.regions.regions import mean_figure, outline_figure

    found = superpixels(rgb, regions)
    rgb = to_rgb(rgb)
    shown = {"mean colours": mean_figure(rgb, found.labels)}
    figure = sheet({f"{found.regions} regions": outline_figure(rgb, found.labels)} | shown)
    files = [write_image(folder / f"{name}-superpixels.png", figure)]
    text, seconds = f"{found.regions} regions", found.seconds
    return row("superpix", name, rgb.shape, "", text, {"regions": found.regions}, seconds, "greedy matching", files)


def restore(clean: np.ndarray, name: str, folder: Path, device: "DeviceName") -> dict:
    """Add noise to a grey image, denoise it and write a figure of both; return a row of the table."""
    from skimage.metrics import peak_signal_noise_ratio

    from apps import denoise
    from apps.common.images import to_bytes, write_image

    noise = np.random.default_rng(0).normal(0.0, NOISE, clean.shape)
    noisy = np.clip(np.rint(clean + noise), 0, 255).astype(np.uint8)
    clock = Clock()
    restored = to_bytes(denoise(noisy, device=device).image)
    clock.charge("method")
    seconds = clock.total()
    before, after = (peak_signal_noise_ratio(clean, image) for image in (noisy, restored))
    shown = {f"with noise, PSNR {before:.1f} dB": noisy, f"restored, PSNR {after:.1f} dB": restored}
    figure = sheet({name: np.repeat(grey[..., None], 3, axis=2) for name, grey in shown.items()})
    files = [write_image(folder / f"{name}-denoised.png", figure)]
    given, found = f"noise of {NOISE:.0f}", f"PSNR {before:.1f} -> {after:.1f} dB"
    measured = {"psnr": round(float(after), 2)}
    return row("denoise", name, clean.shape, given, found, measured, seconds, "exact cuts", files)


def compute_disparities(sample, name: str, folder: Path) -> dict:
    """Compute the disparities of a pair with horizontal motion and write a figure; return a row of the table."""
    from apps import stereo
    from apps.common.images import write_image

    truth = np.where(sample.known, -sample.flow[..., 0], np.nan)
    clock = Clock()
    found = stereo(sample.first, sample.second)
    clock.charge("method")
    seconds = clock.total()
    off = np.abs(found.disparity - truth)[sample.known] > 1
    figure = stereo_sheet(sample.first, found.disparity, truth)
    files, share = [write_image(folder / f"{name}-stereo.jpg", figure)], 100.0 * float(off.mean())
    text, measured = f"{share:.1f} % off by more than 1 px", {"bad_percent": round(share, 2)}
    return row("stereo", name, truth.shape, "2 images", text, measured, seconds, "alpha-expansion", files)


def stereo_sheet(left: np.ndarray, disparity: np.ndarray, truth: np.ndarray, width: int | None = None) -> np.ndarray:
    """The left image of a pair, the disparities found, and the true ones, NaN where unknown; uint8 RGB."""
    from apps.common.images import to_bytes, to_rgb
    from apps.stereo_matching.disparity_figures import disparity_figure, ends_of

    figures = {"left image": to_bytes(to_rgb(left))}
    for name, values in (("disparities found", disparity), ("true disparities", truth)):
        figures[name] = disparity_figure(values, ends_of(truth))
    return sheet(figures, width)


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
    from apps.segmentation.hints import Hints, ObjectOptions
    from apps.segmentation.segmentation import segment_marked
    from apps.stereo_matching.stereo_samples import layered_pair

    photo = np.ascontiguousarray(skimage.data.coffee())
    marks = marks_of_example("coffee", photo.shape[:2])
    cup = segment_marked(to_rgb(photo), Hints(marks, options=ObjectOptions(fill_holes=True))).mask
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
