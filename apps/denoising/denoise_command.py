"""Remove noise from images and fill holes, without blurring edges.

  cutmatch denoise photo.png                            grey or colour; the noise level is estimated from the image
  cutmatch denoise scan.png --data linear               salt and pepper: single pixels that are wrong by any amount
  cutmatch denoise page.png --binary                    black and white
  cutmatch denoise photo.png --mask holes.png           fill where the mask is not 0
  cutmatch denoise photos/                              a folder

The default minimises the total variation plus the squared change of each pixel, exactly, by one minimum cut per bit of
the grey levels.  Black and white takes one cut; on a page, ink is what is darker than the paper around it.  On a CPU
both need less than 100 bytes per pixel in most cases, see docs/guide/denoise.md.

Each image gives NAME-restored.png in the --out folder, with 16 bits if the image has 16, and with its
colour profile and resolution.
"""

from functools import partial
from pathlib import Path

from apps.common.file_kinds import stem_of
from apps.common.images import check_same_size, read_codes, read_image, read_photograph, write_image
from apps.denoising import DATA
from apps.run.inputs import Job, image_items, images_of, job_of
from apps.run.program import Program, Work, line_of, report_of

INPUTS = ("image", "mask", "truth")


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images, or folders of images")
    options.add_argument("--mask", metavar="FILE", help="nonzero where a pixel is to be filled, or a folder of masks")
    options.add_argument("--binary", action="store_true", help="restore a black-and-white image")
    weight = "weight of smoothness (default: 1.05 times the noise; 0.5: linear; 0.8: binary; 0.2: pages)"
    options.add_argument("--smoothness", type=float, metavar="W", help=weight)
    options.add_argument("--data", choices=DATA, default=DATA[0], help="cost of changing a pixel")
    options.add_argument("--truth", metavar="FILE", help="the clean image, or a folder of them: adds scores")


def _plan(chosen) -> Work:
    images, many = images_of(chosen)
    items = image_items(images, partial(job_of, chosen, INPUTS[1:]))
    return Work(items, many, _denoise_one, _line, _scores)


def _denoise_one(job: Job, chosen) -> dict:
    """Restore an image and write it; return the report."""
    from apps.denoising.restoration import denoise

    image, metadata = read_photograph(job.image)
    shape = image.shape[:2]
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
        device=chosen.device,
    )
    quality = {}
    if truth is not None:
        quality = {"truth": {"before": _quality(image, truth), "after": _quality(result.image, truth)}}
    path = Path(chosen.out) / f"{stem_of(job.image)}-restored.png"
    write_image(path, _stored(result.image, result.levels > 512), metadata=metadata)
    found = {"kind": result.kind, "noise": round(result.noise, 3), "smoothness": round(result.smoothness, 4)}
    report = report_of({"image": str(job.image)}, shape, result.seconds, {"restored": path}, **found)
    return report | quality


def _stored(image, deep: bool):
    """An image in [0, 1] as integers of 8 bits, or of 16 if `deep`."""
    import numpy as np

    pixels = np.empty(image.shape, np.uint16 if deep else np.uint8)
    most = np.float32(np.iinfo(pixels.dtype).max)
    for row, values in zip(pixels, image, strict=True):  # by rows: no copy of the image in floats
        row[...] = np.rint(values * most)
    return pixels


def _quality(image, truth) -> dict:
    """PSNR in decibels against the ground truth (H, W, 3); None for an exact copy."""
    import numpy as np

    error = float(np.mean((image.reshape(*truth.shape[:2], -1) - truth) ** 2, dtype=np.float64))
    return {"psnr": round(float(-10 * np.log10(error)), 3) if error else None}


def _line(report) -> str:
    noise = f"noise {report['noise']:.1f}", f"smoothness {report['smoothness']:.2f}"
    return line_of(report, report["kind"], *noise) + _scores([report])


def _scores(reports) -> str:
    pairs = [[report["truth"][when]["psnr"] for when in ("before", "after")] for report in reports if "truth" in report]
    if not pairs or any(None in pair for pair in pairs):
        return ""
    return "; PSNR {:.4g} dB -> {:.4g} dB".format(*(sum(side) / len(side) for side in zip(*pairs, strict=True)))


PROGRAM = Program("denoise", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
