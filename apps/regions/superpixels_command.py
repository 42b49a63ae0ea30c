"""Divide images into superpixels: connected regions of nearly one colour.

  cutmatch superpixels photo.jpg                         500 regions
  cutmatch superpixels photo.jpg --regions 2000,500,100  three numbers from one hierarchy, each a union of the previous
  cutmatch superpixels photos/ --truth masks/            a folder; masks/NAME.png belongs to photos/NAME.jpg

Neighbouring regions of the most similar colours are merged repeatedly, in pairs found by greedy matching.  The number
of regions is exactly the number requested.

Each image gives, in the --out folder, NAME-labels.png (16 bits: region of each pixel, from 1; or another --format),
NAME-outlines.png (boundaries drawn) and NAME-means.png (each region in its mean colour); with several numbers
NAME-2000-labels.png and so on.  The labels look black in image viewers, because their values are small; the other two
are for viewing.  --truth adds boundary recall (2 pixels) and under-segmentation error.
"""

from functools import partial
from pathlib import Path

from apps.common.clock import shown_seconds
from apps.common.images import InputError, read_photograph, write_bytes, write_image
from apps.common.stems import stem_of
from apps.common.writing import Metadata
from apps.regions import REGIONS, REGULARITY
from apps.run.inputs import Job, image_items, images_of, job_of
from apps.run.program import Program, Work, mean_scores, report_of

FORMATS = ("png", "tiff", "npy")
MAX_IN_PNG = 65535  # maximum number of regions in 16 bits
FIRST_LABEL = 1  # in files, because skimage.measure.regionprops leaves out 0; the library's labels are indices from 0
INPUTS = ("image", "truth")


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images, or folders of images")
    options.add_argument(
        "--regions",
        default=str(REGIONS),
        metavar="N[,N...]",
        help="number of regions, or several numbers (default: %(default)s)",
    )
    options.add_argument(
        "--regularity",
        type=float,
        default=REGULARITY,
        metavar="DIFFERENCE",
        help="colour difference in CIELAB below which region sizes dominate; larger values give more equal sizes "
        "(default: %(default)s)",
    )
    options.add_argument(
        "--format", choices=FORMATS, default="png", help="format of the labels (default: png, 16 bits)"
    )
    options.add_argument(
        "--truth", metavar="FILE", help="ground truth: segments, a mask, or a folder of them: adds scores"
    )


def _plan(chosen) -> Work:
    chosen.counts = _counts(chosen.regions, chosen.format)
    images, many = images_of(chosen)
    return Work(image_items(images, partial(job_of, chosen, INPUTS[1:])), many, _divide_one, _line, _summary)


def _files(name: str, chosen) -> list[dict[str, Path]]:
    """Output files of an image, by kind, for each number of regions."""
    suffix, folder = "tif" if chosen.format == "tiff" else chosen.format, Path(chosen.out)
    stems = [name if len(chosen.counts) == 1 else f"{name}-{count}" for count in chosen.counts]
    return [
        {
            "labels": folder / f"{stem}-labels.{suffix}",
            "outlines": folder / f"{stem}-outlines.png",
            "means": folder / f"{stem}-means.png",
        }
        for stem in stems
    ]


def _counts(text: str, kind: str) -> list[int]:
    """Parse numbers separated by commas."""
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--regions needs integers separated by commas, got {text!r}") from None
    if min(counts) < 1 or len(set(counts)) < len(counts):
        raise InputError(f"--regions needs different numbers, 1 or more, got {text!r}")
    if kind == "png" and max(counts) > MAX_IN_PNG:
        raise InputError(f"--regions {max(counts)} does not fit into the 16 bits of PNG; add --format tiff or npy")
    return counts


def _divide_one(job: Job, chosen) -> dict:
    """Divide an image and write the results; return the report."""
    from apps.regions.region_scores import read_segments, score_regions
    from apps.regions.regions import mean_figure, outline_figure, superpixels

    path = job.image
    rgb, metadata = read_photograph(path, keep_bytes=True)
    truth = read_segments(job.files["truth"]) if "truth" in job.files else None
    # The maximum is checked against the number of pixels before the work starts.
    found = superpixels(rgb, max(chosen.counts), regularity=chosen.regularity, device=chosen.device)
    levels, pending = [], []
    planned = _files(stem_of(path), chosen)
    for count, files in zip(chosen.counts, planned, strict=True):
        labels = found.labels_at(count)
        scores = None if truth is None else score_regions(labels, truth)
        level = {
            "regions": count,
            "first_label": FIRST_LABEL,
            "files": {kind: str(file) for kind, file in files.items()},
        }
        if scores is not None:
            level["truth"] = {f"{name}_percent": round(getattr(scores, name), 4) for name in scores.__slots__}
        levels.append(level)
        pending.append((labels, files))
    for labels, files in pending:
        _write_labels(files["labels"], labels + FIRST_LABEL, chosen.format, metadata.without_profile())
        for kind, draw in (("outlines", outline_figure), ("means", mean_figure)):
            figure = draw(rgb, labels)
            write_image(files[kind], figure, metadata=metadata)
    device = "cpu" if chosen.device == "auto" else chosen.device  # as in `superpixels`
    facts = {"regularity": chosen.regularity, "device": device, "levels": levels}
    return report_of({"image": str(path)}, rgb.shape[:2], found.seconds, {}, **facts)


def _write_labels(path: Path, labels, kind: str, metadata: Metadata) -> Path:
    """Labels as 16-bit PNG, 16- or 32-bit TIFF, or a .npy array of int32."""
    import io

    import numpy as np

    small = int(labels.max()) <= MAX_IN_PNG
    if kind == "png":
        return write_image(path, labels.astype(np.uint16), metadata=metadata)
    buffer = io.BytesIO()
    if kind == "tiff":
        import tifffile

        tifffile.imwrite(buffer, labels.astype(np.uint16 if small else np.uint32), photometric="minisblack")
    else:
        np.save(buffer, labels)
    return write_bytes(path, buffer.getvalue())


def _line(report) -> str:
    counts = ", ".join(str(level["regions"]) for level in report["levels"])
    first = report["levels"][0]
    text = (
        f"{report['image']}: {report['width']}x{report['height']}, {counts} regions, "
        f"{shown_seconds(report['seconds'])} -> {first['files']['labels']}"
    )
    if "truth" in first:
        recall, error = (first["truth"][f"{name}_percent"] for name in ("boundary_recall", "undersegmentation_error"))
        text += f"; boundary recall {recall:.1f} %, under-segmentation error {error:.2f} %"
    return text


def _summary(reports) -> str:
    text = ""
    for levels in zip(*(report["levels"] for report in reports), strict=True):
        if means := mean_scores(list(levels), "boundary_recall_percent", "undersegmentation_error_percent"):
            text += "; {} regions: recall {:.2f} %, error {:.2f} % on average".format(levels[0]["regions"], *means)
    return text


PROGRAM = Program("superpixels", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
