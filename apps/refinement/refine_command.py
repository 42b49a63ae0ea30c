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

from functools import partial
from pathlib import Path

from apps.common.errors import InputError
from apps.common.file_kinds import stem_of
from apps.refinement import KINDS
from apps.run.inputs import Job, find_by_stem, image_items, images_of
from apps.run.program import Program, Work
from apps.segmentation.result_files import merged_files, write_merged
from apps.segmentation.segment_command import line, process

INPUTS = ("image", "masks")


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
    items = image_items(images, partial(_job, masks, many))
    kinds = tuple((chosen.write or "").split(","))
    finish, named = partial(write_merged, kinds, out), merged_files(kinds, out)
    return Work(items, many, process, line, finish=finish, named=named)


def _job(masks: Path, many: bool, path: Path) -> Job:
    """An image with its masks: of many images, those in the folder or file of its name."""
    file = masks
    if many and masks.is_dir():
        folder = masks / stem_of(path)
        file = folder if folder.is_dir() else find_by_stem(masks, folder.name, "masks")
    return Job(path, {"masks": file})


PROGRAM = Program("refine", __doc__, "image", INPUTS, _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
