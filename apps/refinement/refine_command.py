"""Refine the masks of other programs to the exact outlines in the image.

  cutmatch refine photo.jpg mask.png              a rough mask, or one of low resolution, such as 256x256
  cutmatch refine photo.jpg probabilities.npy     an array of probabilities or logits, as networks write them
  cutmatch refine photo.jpg labels.png            a label map: every object, 0 is the background
  cutmatch refine photo.jpg annotations.json      COCO: every annotation of the image, polygons or run lengths
  cutmatch refine photo.jpg masks/                a folder of masks: one object each
  cutmatch refine photos/ masks/                  a folder: masks/NAME.png, .npy, ... belongs to photos/NAME.jpg

The mask says what the object is, and the image where exactly it ends.  Only a band along the outline of the mask
changes, as wide as the mask is uncertain: 2.5 pixels of the mask, or of the width of its soft edges if that is larger.
--grain sets this width in pixels of the image, for masks of the image's own resolution that are off by more.

Masks are probabilities, logits (numbers below 0 or above 1), grey levels of 8 or 16 bits, 0 and another value, or
labels, of any resolution; .npy, .npz with one array, PNG, TIFF and other images.  Arrays may have axes of length 1, or
two channels, background and object.  Integers are labels if regions have constant values; --kind decides otherwise.

Results are those of `cutmatch segment`: NAME-mask.png, NAME-overlay.png and NAME-cutout.png in the --out folder, or
with several objects NAME-labels.png, NAME-labels.json, NAME-overlay.png and a cut-out per object.  --write chooses
the files: also coco, coco-rle, geojson and labelme.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps.common.clock import Clock, shown_seconds
from apps.common.errors import InputError, print_error
from apps.common.images import read_photograph, write_bytes
from apps.common.stems import stem_of
from apps.refinement import KINDS
from apps.run.inputs import Item, find_by_stem, images_of
from apps.run.program import Program, Work, report_of
from apps.segmentation import image_jobs, label_jobs
from apps.segmentation.result_files import MERGED, check_kinds, files_of, label_files_of, merged_files, write_merged

INPUTS = ("image", "masks")


@dataclass(frozen=True, slots=True)
class Job:
    """Paths of an image and of its masks, and whether these are of several objects."""

    image: Path
    masks: Path
    several: bool


def _add_options(options) -> None:
    options.add_argument("image", nargs=1, help="an image, or a folder of images")
    options.add_argument("masks", help="its masks: a file or a folder; of a folder of images, a folder or COCO")
    options.add_argument(
        "--kind",
        choices=KINDS,
        default="auto",
        help="what the values are: grey levels of one object, labels of several, or an axis of objects "
        "(default: detected)",
    )
    options.add_argument(
        "--grain", type=float, metavar="PIXELS", help="how far the masks may be off (default: from their resolution)"
    )
    options.add_argument(
        "--write",
        metavar="KIND[,KIND...]",
        help="files to write: mask (one object) or labels (several), overlay, cutout, coco, coco-rle, geojson, "
        "labelme (default: all figures)",
    )


def _plan(chosen) -> Work:
    if chosen.grain is not None and not 0 < chosen.grain < float("inf"):
        raise InputError(f"--grain must be a positive number of pixels, got {chosen.grain:g}")
    images, many = images_of(chosen)
    masks = Path(chosen.masks)
    if len(images) > 1 and not masks.is_dir() and masks.suffix.lower() != ".json":
        raise InputError(
            f"masks: one file for {len(images)} images; pass a folder with the masks of each, under the name of the "
            "image, or COCO"
        )
    out = Path(chosen.out)
    items = [_item(path, masks, many, chosen) for path in images]
    merged = tuple(kind for kind in MERGED if kind in (chosen.write or "").split(","))
    finish, named = partial(write_merged, merged, out), merged_files(merged, out)
    return Work(items, many, _refine_one, _line, finish=finish, named=named)


def _item(path: Path, masks: Path, many: bool, chosen) -> Item:
    """An image with its masks; in a batch, masks that cannot be read are reported when the image is processed."""
    name, out = stem_of(path), Path(chosen.out)

    def job() -> Job:
        file = masks
        if many and masks.is_dir():
            folder = masks / name
            file = folder if folder.is_dir() else find_by_stem(masks, name, "masks")
        return Job(path, file, _has_several(file, path, chosen.kind))

    try:
        several = job().several
    except InputError:
        if not many:
            raise
        return Item(name, str(path), job)
    kinds = check_kinds(chosen.write, several, strokes=False)
    if not several:
        return Item(name, str(path), job, tuple(files_of(kinds, out, name).values()))
    families = (f"{name}-object",) if "cutout" in kinds else ()
    return Item(name, str(path), job, tuple(label_files_of(kinds, out, name).values()), families=families)


def _has_several(file: Path, image: Path, kind: str) -> bool:
    """Whether masks are of several objects, so that the result is a label map."""
    if kind != "auto" or file.is_dir() or file.suffix.lower() == ".json":
        return kind != "levels"
    from apps.refinement.mask_files import read_masks
    from apps.segmentation.masks import soft_masks_of

    values, kind = read_masks(file, image, kind)
    return soft_masks_of(values, kind, f"masks: {str(file)!r}").labels is not None


def _refine_one(job: Job, chosen) -> dict:
    """Refine the masks of an image and write the results; return the report."""
    from apps.common.annotations import Annotation
    from apps.common.figures import colour_of
    from apps.refinement.mask_files import read_masks
    from apps.refinement.refinement import refine_soft
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.masks import soft_masks_of

    clock = Clock()
    image, out, name = job.image, Path(chosen.out), stem_of(job.image)
    rgb, metadata = read_photograph(image, keep_bytes=not job.several)
    soft = soft_masks_of(*read_masks(job.masks, image, chosen.kind), f"masks: {str(job.masks)!r}")
    result = refine_soft(rgb, soft, chosen.grain, chosen.device, Clock())
    kinds = check_kinds(chosen.write, job.several, strokes=False)
    if job.several:
        files = label_files_of(kinds, out, name, result.values)
        contents = label_jobs.contents(image, rgb, metadata, None, result, files)
    else:
        files = files_of(kinds, out, name)
        found = Annotation("object", 1, colour_of(1), result.mask)
        contents = image_jobs.contents(files, image, rgb, metadata, None, found)
    clock.charge("figures")
    for kind, content in contents.items():
        write_bytes(files[kind], content)
    notes = (*result.notes, *remarks_on(result.mask))
    for note in notes:
        print_error(f"cutmatch refine: {image}: {note}")
    return report_of(
        {"image": str(image)},
        result.labels.shape,
        result.seconds,
        files,
        pixels={value: int((result.labels == value).sum()) for value in result.values},
        offsets=[[round(x, 2), round(y, 2)] for x, y in result.offsets],
        device="cpu" if chosen.device == "auto" else chosen.device,
        warnings=list(notes),
    )


def _line(report) -> str:
    count = len(report["pixels"])
    share = 100.0 * sum(report["pixels"].values()) / (report["width"] * report["height"])
    return (
        f"{report['image']}: {report['width']}x{report['height']}, {count} object{'s' * (count != 1)}, {share:.1f} %, "
        f"{shown_seconds(report['seconds'])} -> {next(iter(report['files'].values()))}"
    )


PROGRAM = Program("refine", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
