"""Cut objects out of images and volumes.

  cutmatch segment photo.jpg --scribbles strokes.png      strokes: object red, background blue
  cutmatch segment photo.jpg --box 40,30,300,280          the object is inside x0,y0,x1,y1
  cutmatch segment photo.jpg --trimap trimap.png          0 background, 128 unknown, 255 object
  cutmatch segment photos/ --scribbles strokes/           a folder: strokes/NAME.png belongs to photos/NAME.jpg
  cutmatch segment photo.jpg --labels strokes.png         several objects: one colour, or one value of 1 to 65535, each
  cutmatch segment scan.tif --labels seeds.tif            a volume: TIFF with many pages, .npy, or with --volume a
                                                          folder of slices; seeds of the same size

Strokes can be painted in any paint program: the object in any red, the background in any blue, with opaque colours on
white, on black, on transparency or on a copy of the photograph, and saved as an image of the same size.  A grey image
of values 0 (no stroke), 1 (object) and 2 (background) will do too.

A single object gives three files in the --out folder: NAME-mask.png (255 on the object), NAME-overlay.png (outline
drawn, background dimmed) and NAME-cutout.png (RGBA, soft along the outline); with strokes or a trimap also
NAME-strokes.png: the strokes as they were read, red and blue on the dimmed photograph.  Parts that touch no object
stroke are dropped; --keep all keeps them.  Colour models and labelling are updated alternately; each labelling is an
exact minimum cut.  Several images need a folder with a stroke image or a trimap per image; --box is a JSON file
{"NAME": [x0, y0, x1, y1]} or one box for all.

Several objects give NAME-labels.png (the strokes' values; red 1, blue 2, green 3, yellow 4, magenta 5, cyan 6),
NAME-overlay.png, NAME-strokes.png, and a cut-out per object, NAME-objectVALUE.png.  A volume gives NAME-labels.tif (or
.npy) and NAME-slices.png, its middle slices.  The background counts as an object.

Exit status: 0 done, 1 some images of a folder failed or the disk is full, 2 the input cannot be used, 70 a defect in
cutmatch.
"""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apps import cli
from apps.common.images import InputError, check_same_size, read_image, to_bytes, write_image
from apps.common.outputs import claim
from apps.many.inputs import check_out_is_not_input, check_unique_names, companion_of, image_items, images_of
from apps.many.program import Program, Work
from apps.segment import CONNECTIVITIES, KEEP, SPACING
from apps.segment.label_jobs import family_of, label, line, results_of, summary
from apps.segment.strokes import ENCODINGS, box_of, parse_box, read_boxes, read_scribbles, read_trimap

INPUTS = ("image", "scribbles", "box", "trimap", "labels", "truth")


@dataclass(frozen=True, slots=True)
class Job:
    """Paths of an image and its companion files, and its box as four integers."""

    image: Path
    scribbles: Path | None
    trimap: Path | None
    box: tuple | None
    truth: Path | None


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images or volumes, or folders of them")
    where = options.add_argument_group("location of the object (exactly one)")
    where.add_argument("--scribbles", metavar="FILE", help="stroke image, or a folder of them")
    where.add_argument(
        "--box", metavar="X0,Y0,X1,Y1", help="box around the object in pixels, half open, or a JSON file of boxes"
    )
    where.add_argument("--trimap", metavar="FILE", help="trimap, or a folder of them")
    where.add_argument(
        "--labels", metavar="FILE", help="strokes of several objects, seeds of a volume, or a folder of them"
    )
    how = options.add_argument_group("segmentation")
    how.add_argument(
        "--encoding",
        choices=ENCODINGS,
        default="auto",
        help="encoding of the strokes (default: detected from their values)",
    )
    how.add_argument(
        "--keep", choices=KEEP, help="parts of the object to keep (default: touching a stroke; all for a box)"
    )
    how.add_argument("--fill-holes", action="store_true", help="assign holes without a background stroke to the object")
    how.add_argument(
        "--min-area",
        type=int,
        default=0,
        metavar="PIXELS",
        help="drop parts, and fill holes, of fewer pixels (default: 0)",
    )
    how.add_argument("--soft-strokes", action="store_true", help="treat strokes as strong hints, not constraints")
    how.add_argument("--truth", metavar="FILE", help="ground truth (0, 128 undecided, 255), or a folder: adds scores")
    volumes = options.add_argument_group("volumes")
    volumes.add_argument("--volume", action="store_true", help="read a folder as the slices of a volume")
    volumes.add_argument(
        "--connectivity",
        type=int,
        choices=CONNECTIVITIES,
        default=CONNECTIVITIES[0],
        help="neighbours of a voxel (default: %(default)s)",
    )
    volumes.add_argument(
        "--spacing",
        type=float,
        nargs=3,
        metavar=("Z", "Y", "X"),
        default=SPACING,
        help="size of a voxel, in any unit (default: 1 1 1)",
    )


def _plan(chosen) -> Work:
    kinds = ("scribbles", "box", "trimap", "labels")
    given = [name for name in kinds if getattr(chosen, name) is not None]
    if len(given) != 1:
        options = " and ".join(f"--{name}" for name in given) or "none"
        raise InputError(f"pass exactly one of --scribbles, --box, --trimap and --labels, got {options}")
    if chosen.min_area < 0:
        raise InputError(f"--min-area must be 0 or more pixels, got {chosen.min_area}")
    if chosen.labels is not None:
        return _plan_labels(chosen)
    if chosen.volume:
        raise InputError(f"--volume requires --labels with seeds of the volume's size, got --{given[0]}")
    if array := next((name for name in chosen.image if name.lower().endswith(".npy")), None):
        raise InputError(
            f"image: {array!r} is a volume, which requires --labels with seeds of its size, got --{given[0]}"
        )
    images, many = images_of(chosen)
    _check_one_per_image(getattr(chosen, given[0]), images, given[0])
    boxes = read_boxes(chosen.box) if chosen.box and Path(chosen.box).suffix == ".json" else None
    items = image_items(images, partial(_job, chosen, boxes), lambda path: _files(path.stem, chosen).values())
    return Work(items, many, _segment_one, _line, summary)


def _plan_labels(chosen) -> Work:
    """The same for several objects, in images and volumes."""
    from apps.segment.label_jobs import Job as Labelled
    from apps.segment.volumes import is_volume

    for name in ("fill_holes", "soft_strokes", "min_area"):
        if getattr(chosen, name):
            raise InputError(f"--{name.replace('_', '-')} applies to a single object; omit it with --labels")
    if chosen.volume:
        images, many = [Path(name) for name in chosen.image], len(chosen.image) > 1
        check_unique_names(images, "image")
        check_out_is_not_input(images, chosen.out, "image")
    else:
        images, many = images_of(chosen)
    _check_one_per_image(chosen.labels, images, "labels")

    def job(path):
        volume = is_volume(path, chosen.volume)
        if chosen.volume and not volume:
            raise InputError(
                f"image: {str(path)!r} is not a volume; pass a .npy, a TIFF with many pages or a folder of slices"
            )
        # A folder of seeds contains the slices of the volume's seeds, unless there are several volumes.
        slices = volume and not many and Path(chosen.labels).is_dir()
        seeds = Path(chosen.labels) if slices else companion_of(chosen.labels, path.stem, "--labels")
        truth = Path(chosen.truth) if slices and chosen.truth else companion_of(chosen.truth, path.stem, "--truth")
        return Labelled(path, seeds, truth, volume)

    items = image_items(images, job, lambda path: results_of(path, chosen), family_of)
    return Work(items, many, label, line, summary)


def _check_one_per_image(given: str, images, option: str) -> None:
    """Raise InputError for one file of strokes for several images; --box permits one box for all of them."""
    if option != "box" and len(images) > 1 and os.path.exists(given) and not os.path.isdir(given):
        what = {"scribbles": "stroke image", "trimap": "trimap", "labels": "stroke image or seed volume"}[option]
        raise InputError(
            f"--{option}: one file for {len(images)} images; pass a folder with a {what} per image, named like it"
        )


def _job(chosen, boxes, image: Path) -> Job:
    """Find the companion files of an image: the file given, or the one of its name in the folder given."""
    box = None
    if chosen.box is not None:
        box = parse_box(chosen.box) if boxes is None else box_of(boxes, image.stem, chosen.box)
    files = (companion_of(getattr(chosen, name), image.stem, f"--{name}") for name in ("scribbles", "trimap", "truth"))
    scribbles, trimap, truth = files
    return Job(image, scribbles, trimap, box, truth)


def _files(name: str, chosen) -> dict[str, Path]:
    """Output files of an image, by kind."""
    kinds = ("mask", "overlay", "cutout", *(("strokes",) if chosen.box is None else ()))
    return {kind: Path(chosen.out) / f"{name}-{kind}.png" for kind in kinds}


def _segment_one(job: Job, chosen) -> dict:
    """Segment an image and write the results; return the report.  Nothing is written before all of it succeeded."""
    from apps.common.figures import overlay, strokes_figure
    from apps.segment.mask_scores import read_truth, score
    from apps.segment.matte import cut_out
    from apps.segment.segmentation import segment_marked
    from apps.segment.strokes import check_marks, marks_of_box

    rgb = read_image(job.image)
    shape = rgb.shape[:2]
    if job.scribbles is not None:
        marks = check_marks(read_scribbles(job.scribbles, chosen.encoding, to_bytes(rgb)), shape, "--scribbles")
    elif job.trimap is not None:
        marks = check_marks(read_trimap(job.trimap), shape, "--trimap")
    else:
        marks = marks_of_box(job.box, shape)
    truth = read_truth(job.truth) if job.truth is not None else None
    if truth is not None:
        check_same_size(truth, shape, "--truth")
    result = segment_marked(
        rgb,
        marks,
        keep=chosen.keep,
        fill_holes=chosen.fill_holes,
        min_area=chosen.min_area,
        soft_strokes=chosen.soft_strokes,
        device=chosen.device,
    )
    figures = {
        "mask": result.mask.astype("uint8") * 255,
        "overlay": overlay(rgb, result.mask),
        "cutout": cut_out(rgb, result.mask),
    }
    if job.box is None:
        figures["strokes"] = strokes_figure(rgb, marks)
    files = _files(job.image.stem, chosen)
    claim(chosen, "segment", job.image.stem, job.image, files.values())
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    report = {
        "image": str(job.image),
        "width": shape[1],
        "height": shape[0],
        "object_pixels": int(result.mask.sum()),
        "open_pixels": int((marks == 0).sum()),
        "energies": [round(energy, 3) for energy in result.energies],
        "rounds": len(result.energies),
        "seconds": {phase: round(seconds, 4) for phase, seconds in result.seconds.items()},
        "device": result.device,
        "method": result.method,
        "files": {kind: str(path) for kind, path in files.items()},
    }
    if truth is not None:
        scores = score(result.mask, truth, marks)
        report["truth"] = {
            "error_percent": round(scores.error, 4),
            "iou_percent": round(scores.iou, 4),
            "boundary_f_percent": round(scores.boundary_f, 4),
        }
    return report


def _line(report) -> str:
    share = 100.0 * report["object_pixels"] / (report["width"] * report["height"])
    text = (
        f"{report['image']}: {report['width']}x{report['height']}, object {share:.1f} %, "
        f"{report['rounds']} rounds, energy {report['energies'][-1]:.0f}, "
        f"{report['seconds']['total']:.2f} s -> {report['files']['mask']}"
    )
    if "truth" in report:
        text += f"; IoU {report['truth']['iou_percent']:.1f} %, error {report['truth']['error_percent']:.2f} %"
    return text


PROGRAM = Program("segment", __doc__, "image", INPUTS, _add_options, _plan)
main = PROGRAM.main

if __name__ == "__main__":
    sys.exit(cli.main(["segment", *sys.argv[1:]]))  # workers find this module's functions under its name
