"""Divide images into superpixels: connected regions of nearly one colour.

  cutmatch superpixels photo.jpg                         500 regions
  cutmatch superpixels photo.jpg --regions 2000,500,100  three numbers from one hierarchy, each a union of the previous
  cutmatch superpixels photos/                           a folder

Neighbouring regions of the most similar colours are merged repeatedly, in pairs found by greedy matching.  The number
of regions is exactly the number requested.

Each image gives, in the --out folder, NAME-labels.png (16 bits: region of each pixel, from 1) and NAME-outlines.png
(boundaries drawn); with several numbers NAME-2000-labels.png and so on.  The labels look black in image viewers,
because their values are small; the outlines are for viewing.
"""

from functools import partial
from pathlib import Path

from apps.common.file_kinds import stem_of
from apps.common.images import InputError, read_photograph, write_image
from apps.regions import REGIONS, REGULARITY
from apps.run.inputs import Job, image_items, images_of, job_of
from apps.run.program import Program, Work, line_of, report_of

MAX_IN_PNG = 65535  # maximum number of regions in 16 bits
FIRST_LABEL = 1  # in files, because skimage.measure.regionprops leaves out 0; the library's labels are indices from 0
INPUTS = ("image",)


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images, or folders of images")
    options.add_argument("--regions", default=str(REGIONS), metavar="N[,N...]", help="number of regions, or several")
    equal = "colour difference in CIELAB below which sizes decide; larger values give more equal sizes"
    options.add_argument("--regularity", type=float, default=REGULARITY, metavar="DIFFERENCE", help=equal)


def _plan(chosen) -> Work:
    chosen.counts = _counts(chosen.regions)
    images, many = images_of(chosen)
    return Work(image_items(images, partial(job_of, chosen, ())), many, _divide_one, _line)


def _counts(text: str) -> list[int]:
    """Parse numbers separated by commas."""
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--regions needs integers separated by commas, got {text!r}") from None
    if min(counts) < 1 or len(set(counts)) < len(counts):
        raise InputError(f"--regions needs different numbers, 1 or more, got {text!r}")
    if max(counts) > MAX_IN_PNG:
        raise InputError(f"--regions {max(counts)} does not fit into the 16 bits of PNG; call apps.superpixels")
    return counts


def _divide_one(job: Job, chosen) -> dict:
    """Divide an image and write the results; return the report."""
    from apps.regions.regions import outline_figure, superpixels

    rgb, metadata = read_photograph(job.image, keep_bytes=True)
    # The maximum is checked against the number of pixels before the work starts.
    found = superpixels(rgb, max(chosen.counts), regularity=chosen.regularity, device=chosen.device)
    files = {}
    for count in chosen.counts:
        labels, number = found.labels_at(count), "" if len(chosen.counts) == 1 else f"{count}-"
        start, stored = Path(chosen.out) / f"{stem_of(job.image)}-{number}", (labels + FIRST_LABEL).astype("uint16")
        files[f"{number}labels"] = write_image(f"{start}labels.png", stored, metadata=metadata.without_profile())
        files[f"{number}outlines"] = write_image(f"{start}outlines.png", outline_figure(rgb, labels), metadata=metadata)
    facts = {"regions": chosen.counts, "first_label": FIRST_LABEL, "regularity": chosen.regularity}
    facts["device"] = "cpu" if chosen.device == "auto" else chosen.device  # as in `superpixels`
    return report_of({"image": str(job.image)}, rgb.shape[:2], found.seconds, files, **facts)


def _line(report) -> str:
    return line_of(report, f"{', '.join(map(str, report['regions']))} regions")


PROGRAM = Program("superpixels", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
