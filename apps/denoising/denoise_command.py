"""Remove noise from images and fill holes, without blurring edges.

  cutmatch denoise photo.png                            grey or colour; the noise level is estimated from the image
  cutmatch denoise scan.png --data linear               salt and pepper: single pixels that are wrong by any amount
  cutmatch denoise page.png --binary                    black and white
  cutmatch denoise photo.png --mask holes.png           fill where the mask is not 0
  cutmatch denoise photos/                              a folder

The default minimises the total variation plus the squared change of each pixel, exactly, by one minimum cut per bit of
the grey levels.  Black and white takes one cut; on a page, ink is what is darker than the paper around it.  On a CPU
both need less than 100 bytes per pixel in most cases, see docs/guide/denoise.md.

--truncate-data, --truncate and another --smoothness-term truncate the terms, which preserves contrast; alpha-expansion
then minimises the energy over --levels grey levels.

Each image gives NAME-restored.png in the --out folder (or the --format given), with 16 bits if the image has 16, and
with its colour profile and resolution.
"""

import io
from functools import partial
from pathlib import Path

from apps.common.clock import shown_seconds
from apps.common.errors import print_error
from apps.common.images import InputError, check_same_size, read_codes, read_image, read_photograph, write_bytes
from apps.common.labelling import SMOOTHNESS_TERMS
from apps.common.stems import stem_of
from apps.common.writing import Metadata, encoded_image
from apps.denoising import DATA, LEVELS, SMOOTHNESS_TERM
from apps.run.inputs import Job, image_items, images_of, job_of
from apps.run.program import Program, Work, report_of

FORMATS = ("png", "tif", "jpg")
MAX_IN_JPEG = 65500  # pixels: libjpeg's limit
JPEG_QUALITY = 95
INPUTS = ("image", "mask", "truth")


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images, or folders of images")
    options.add_argument("--mask", metavar="FILE", help="nonzero where a pixel is to be filled, or a folder of masks")
    options.add_argument("--binary", action="store_true", help="restore a black-and-white image")
    options.add_argument(
        "--smoothness",
        type=float,
        metavar="W",
        help="weight of the smoothness term (default: 1.05 times the noise; 0.5 for linear data; 0.8 for binary, "
        "0.2 if it is a page)",
    )
    how = options.add_argument_group("energy")
    how.add_argument(
        "--data", choices=DATA, default=DATA[0], help="data term: cost of changing a pixel (default: %(default)s)"
    )
    how.add_argument(
        "--truncate-data",
        type=float,
        metavar="LEVELS",
        help="maximum of the data term, in grey levels, squared for quadratic data (default: none)",
    )
    how.add_argument(
        "--smoothness-term",
        choices=SMOOTHNESS_TERMS,
        default=SMOOTHNESS_TERM,
        help="cost of a difference between neighbours (default: %(default)s)",
    )
    how.add_argument(
        "--truncate",
        type=int,
        metavar="STEPS",
        help="maximum of the smoothness term, in levels, squared for quadratic (default: none)",
    )
    how.add_argument(
        "--levels", type=int, default=LEVELS, help="number of grey levels of truncated energies (default: %(default)s)"
    )
    options.add_argument(
        "--format", choices=FORMATS, default="png", help="format of the results (default: %(default)s)"
    )
    options.add_argument(
        "--truth", metavar="FILE", help="ground truth, the clean image, or a folder of them: adds scores"
    )


def _plan(chosen) -> Work:
    images, many = images_of(chosen)
    items = image_items(images, partial(job_of, chosen, INPUTS[1:]))
    return Work(items, many, _denoise_one, _line, _scores)


def _file(image: Path, chosen) -> Path:
    return Path(chosen.out) / f"{stem_of(image)}-restored.{chosen.format}"


def _denoise_one(job: Job, chosen) -> dict:
    """Restore an image and write it; return the report."""
    from apps.denoising.restoration import denoise

    image, metadata = read_photograph(job.image)
    shape = image.shape[:2]
    if chosen.format == "jpg" and max(shape) > MAX_IN_JPEG:
        raise InputError(
            f"--format jpg is limited to {MAX_IN_JPEG} pixels per side, but the image is {shape[1]}x{shape[0]}; "
            "use png or tif"
        )
    mask = read_codes(job.files["mask"], "--mask") if "mask" in job.files else None
    truth = read_image(job.files["truth"], "--truth") if "truth" in job.files else None
    if truth is not None:
        check_same_size(truth, image.shape, "--truth")
    result = denoise(
        image,
        mask=mask,
        binary=True if chosen.binary else None,
        smoothness=chosen.smoothness,
        data=chosen.data,
        truncate_data=chosen.truncate_data,
        smoothness_term=chosen.smoothness_term,
        truncate=chosen.truncate,
        levels=chosen.levels,
        device=chosen.device,
    )
    if result.warning:
        print_error(f"cutmatch denoise: {job.image}: warning: {result.warning}")
    quality = {}
    if truth is not None:
        quality = {"truth": {"before": _quality(image, truth), "after": _quality(result.image, truth)}}
    data = _encoded(result.image, chosen.format, result.levels > 512, metadata)
    path = _file(job.image, chosen)
    write_bytes(path, data)
    found = {"kind": result.kind, "noise": round(result.noise, 3), "smoothness": round(result.smoothness, 4)}
    report = report_of({"image": str(job.image)}, shape, result.seconds, {"restored": path}, **found)
    return report | ({"warning": result.warning} if result.warning else {}) | quality


def _encoded(image, kind: str, deep: bool, metadata: Metadata) -> bytes:
    """Encode an image in [0, 1], with 16 bits if `deep` and the format supports it."""
    import numpy as np

    most = 65535 if deep and kind != "jpg" else 255
    pixels = np.empty(image.shape, np.uint16 if most > 255 else np.uint8)
    for row, values in zip(pixels, image, strict=True):  # by rows: no copy of the image in floats
        row[...] = np.rint(values * np.float32(most))
    if kind == "tif":
        return _encoded_tiff(pixels, metadata)
    return encoded_image(pixels, f".{kind}", metadata, **({"quality": JPEG_QUALITY} if kind == "jpg" else {}))


def _encoded_tiff(pixels, metadata: Metadata) -> bytes:
    import tifffile

    kept = metadata.options(pixels)
    resolution = {"resolution": kept["dpi"], "resolutionunit": "INCH"} if "dpi" in kept else {}
    buffer = io.BytesIO()
    tifffile.imwrite(
        buffer,
        pixels,
        compression="zlib",
        photometric="minisblack" if pixels.ndim == 2 else "rgb",
        iccprofile=kept.get("icc_profile"),
        **resolution,
    )
    return buffer.getvalue()


def _quality(image, truth) -> dict:
    """PSNR in decibels and SSIM against the ground truth (H, W, 3).

    PSNR is None for an exact copy, SSIM for an image with a side below 3 pixels.
    """
    import numpy as np
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    image = np.broadcast_to(image[..., None], truth.shape) if image.ndim == 2 else image
    same = bool((image == truth).all())
    side = min(7, *truth.shape[:2])
    window = side if side % 2 else side - 1
    similarity = None
    if window >= 3:
        similarity = structural_similarity(truth, image, data_range=1.0, channel_axis=2, win_size=window)
        similarity = round(float(similarity), 5)
    ratio = float("inf") if same else peak_signal_noise_ratio(truth, image, data_range=1.0)
    return {"psnr": None if same else round(float(ratio), 3), "ssim": similarity}


def _line(report) -> str:
    text = (
        f"{report['image']}: {report['width']}x{report['height']}, {report['kind']}, noise {report['noise']:.1f}, "
        f"smoothness {report['smoothness']:.2f}, {shown_seconds(report['seconds'])} -> {report['files']['restored']}"
    )
    return text + _scores([report])


def _scores(reports) -> str:
    scored = [report["truth"] for report in reports if "truth" in report]
    if not scored:
        return ""
    text = ""
    for name, unit in (("psnr", " dB"), ("ssim", "")):
        pairs = [(s["before"][name], s["after"][name]) for s in scored]
        if all(value is not None for pair in pairs for value in pair):
            before, after = (sum(side) / len(side) for side in zip(*pairs, strict=True))
            text += f"; {name.upper()} {before:.4g}{unit} -> {after:.4g}{unit}"
    return text


PROGRAM = Program("denoise", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
