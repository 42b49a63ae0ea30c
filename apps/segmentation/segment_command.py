"""Cut objects out of images and volumes.

  cutmatch segment photo.jpg --strokes strokes.png        strokes: object red, background blue
  cutmatch segment photo.jpg --box 40,30,300,280          the object is inside x0,y0,x1,y1
  cutmatch segment photo.jpg --trimap trimap.png          0 background, 128 unknown, 255 object
  cutmatch segment photo.jpg --box 40,30,300,280 --strokes strokes.png       a box, corrected by strokes
  cutmatch segment photo.jpg --start mask.png             a rough mask, or one of a network, is refined
  cutmatch segment photos/ --strokes strokes/             a folder: strokes/NAME.png belongs to photos/NAME.jpg
  cutmatch segment photos/ --boxes detections.json        an object in each box of a detector: COCO, YOLO
  cutmatch segment photo.jpg --label-strokes strokes.png  several objects: a colour or value of 1 to 65535 for each
  cutmatch segment ct.nii.gz --label-strokes s.nii.gz     a volume: NIfTI, NRRD, MetaImage, DICOM, TIFF, .npy
  cutmatch segment ct.nii.gz --strokes strokes.nrrd       one object in a volume, from strokes or from a rough mask
  cutmatch segment clip.mp4 --strokes 0000.png            a clip: strokes on one frame or more, or a folder of them,
                                                          named by frame; --clip reads a folder as its frames

Strokes can be painted in any paint program: the object in any red, the background in any blue, with opaque colours on
white, on black, on transparency or on a copy of the photograph, and saved as an image of the same size.  A grey image
of values 0 (no stroke), 1 (object) and 2 (background) will do too.

A single object gives three files in the --out folder: NAME-mask.png (255 on the object), NAME-overlay.png (outline
drawn, background dimmed) and NAME-cutout.png (RGBA, soft along the outline); with strokes or a trimap also
NAME-strokes.png: the strokes as they were read, red and blue on the dimmed photograph.  Parts that touch no object
stroke are dropped, unless there is a box or a start mask; --keep decides otherwise.  Colour models and labelling are
updated alternately; each labelling is an exact minimum cut.  Several images need a folder with a stroke image, a
trimap or a mask per image; --box is one box for all.  At the end, the images are listed whose object is unsure, so
that these can be looked at first.

A box, --start and strokes (or a trimap) can be combined: strokes are constraints, a mask is a hint.  NAME-mask.png of
an earlier run is such a mask.

--write chooses the files: mask, labels, overlay, cutout, strokes, and annotations of the exact outlines for other
programs: coco (polygons), coco-rle (run lengths), geojson (QuPath), labelme and yolo (NAME.txt, a simplified polygon an
object); for a batch also coco.json of all images.  Photographs keep their colour profile and resolution.

Several objects give NAME-labels.png (the strokes' values; red 1, blue 2, green 3, yellow 4, magenta 5, cyan 6; its
values look black in image viewers), NAME-labels.json (the names, colours and pixel numbers of the values),
NAME-overlay.png, NAME-strokes.png, and a cut-out per object, NAME-objectVALUE.png.  The background counts as an
object.

--boxes reads COCO (annotations or results), JSON {"NAME": [[x0, y0, x1, y1], ...]}, or a folder of YOLO files
(NAME.txt).  Every box gets an object of its own; of several that claim a pixel, its costs decide.
NAME-labels.png has the number of the object's box, from 1; NAME-labels.json and NAME-coco.json keep names, categories
and scores; NAME-overlay.png shows all.  Images without a box have no object.

Volumes are .nii, .nii.gz, .nrrd, .nhdr, .mha, .mhd, a DICOM series (a folder, or one file of it), .npy, TIFF
with pages (also ImageJ, OME), and with --volume a folder of slices.  Results have the volume's format and geometry (of
DICOM: .nii.gz): NAME-labels and NAME-labels.json, or for one object NAME-mask (1 on the object), and NAME-slices.png,
three slices.  Strokes (0 none, 1 object, 2 background) and masks are volumes on the same grid.  The spacing of the
voxels is the file's unless --spacing is given; volumes of the labels are in its unit.

A clip gives NAME-mask0000.png and so on, and NAME-overlay.mp4.  The mask is carried from the frames with strokes to the
others along the optical flow, each frame by an exact cut.  The first frame with strokes needs both colours; on a later
one, strokes of one colour correct the mask.  --write mask,overlay,cutout adds NAME-cutout0000.png and so on.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.common.annotations import TOLERANCE
from apps.common.clock import shown_seconds
from apps.common.command import passed, spelled, three_numbers
from apps.common.errors import InputError, print_error
from apps.common.file_kinds import VOLUME_OF, is_image, stem_of, suffix_of
from apps.common.images import check_same_size, read_photograph, to_bytes, write_bytes
from apps.common.writing import encoded_image
from apps.run.inputs import (
    Job,
    check_out_is_not_input,
    check_unique_names,
    companion_of,
    image_items,
    images_in,
)
from apps.run.program import Program, Work, mean_scores, report_of
from apps.segmentation import BAND, KEEP, SPACING, clip_job
from apps.segmentation.box_files import read_boxes
from apps.segmentation.location import OPTIONS, check_files, check_location, check_options
from apps.segmentation.result_files import (
    ALL_KINDS,
    Found,
    annotations_of,
    contents_of,
    encoded_legend,
    files_of,
    kinds_of,
    merged_files,
    write_merged,
)
from apps.segmentation.strokes import ENCODINGS, parse_box
from apps.volumes.volume_files import encoded_volume, further_files, is_volume, kind_of, read_volume, result_suffix
from apps.volumes.voxel_geometry import Geometry

MAX_LISTED = 6  # labels whose volumes are printed, and images to look at first
MIN_UNSURE = 5  # percent of the object, from which a result is unsure


def _add_options(options) -> None:
    options.add_argument("image", nargs="+", help="images or volumes, or folders of them")
    where = options.add_argument_group("location of the object (at least one)")
    for option, text in OPTIONS.items():
        where.add_argument(spelled(option), metavar="X0,Y0,X1,Y1" if option == "box" else "FILE", help=text)
    how = options.add_argument_group("segmentation")
    how.add_argument(
        "--encoding",
        choices=ENCODINGS,
        default="auto",
        help="encoding of the strokes (default: detected from their values)",
    )
    how.add_argument(
        "--keep",
        choices=KEEP,
        help="parts of the object to keep (default: touching a stroke; with a box, all but islands)",
    )
    how.add_argument("--fill-holes", action="store_true", help="assign holes without a background stroke to the object")
    how.add_argument(
        "--min-area",
        type=int,
        default=0,
        metavar="PIXELS",
        help="drop parts with fewer pixels, and fill such holes (default: 10, or 1e-5 of a large image; 1: keep all)",
    )
    how.add_argument(
        "--truth", metavar="FILE", help="ground truth of one object (0, 128 undecided, 255), or a folder: adds scores"
    )
    options.add_argument(
        "--write",
        metavar="KIND[,KIND...]",
        help=f"files to write: {', '.join(ALL_KINDS)} (default: all figures, no annotations)",
    )
    options.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        metavar="PIXELS",
        help="by which outlines of --write yolo may be off (default: %(default)g)",
    )
    volumes = options.add_argument_group("volumes")
    volumes.add_argument(
        "--band",
        type=float,
        metavar="VOXELS",
        help=f"how far --start may be off, in shortest sides of a voxel (default: {BAND:g})",
    )
    volumes.add_argument("--volume", action="store_true", help="read a folder as the slices of a volume")
    clips = options.add_argument_group("clips")
    clips.add_argument("--clip", action="store_true", help="read a folder, stack or animation as the frames of a clip")
    volumes.add_argument(
        "--spacing",
        type=three_numbers,
        metavar="Z,Y,X",
        help="size of a voxel, in any unit (default: from the file, else 1,1,1)",
    )


def _plan(chosen) -> Work:
    check_location(chosen)
    if chosen.min_area < 0:
        raise InputError(f"--min-area must be 0 or more pixels, got {chosen.min_area}")
    if not 0 <= chosen.tolerance <= 100:
        raise InputError(f"--tolerance must be 0 to 100 pixels, got {chosen.tolerance}")
    if chosen.clip or any(map(clip_job.is_clip, chosen.image)):
        return clip_job.plan(chosen)
    found = (
        "boxes" if chosen.boxes is not None else "several objects" if chosen.label_strokes is not None else "one object"
    )
    chosen.kinds = kinds_of(chosen.write, found, bool(passed(chosen, "strokes", "trimap", "label_strokes")))
    images, many = inputs_of(chosen)
    if not any(is_volume(path, chosen.volume) for path in images):
        check_options(chosen, "images")
    check_files(chosen, images)
    boxes = None if chosen.boxes is None else read_boxes(chosen.boxes, images, "--boxes")
    items = image_items(images, lambda path: _job(path, chosen, boxes, many))
    out = Path(chosen.out)
    finish, named = partial(_finish, chosen.kinds, out), merged_files(chosen.kinds, out)
    return Work(items, many, process, line, summary, finish=finish, named=named)


def _finish(kinds: tuple[str, ...], folder: Path, reports: list[dict]) -> dict:
    """Write the annotations of a batch; return its files, and the images to look at first."""
    return write_merged(kinds, folder, reports) | {"look_first": [one["image"] for one in look_first(reports)]}


def inputs_of(chosen) -> tuple[list[Path], bool]:
    """Images and volumes, named or in a folder named, and whether to process them as a batch.

    A folder is a volume if it is a DICOM series, and with --volume also if it holds slices.
    """
    paths, many, volumes = [], False, ("NIfTI", "NRRD", "MetaImage")
    for name in chosen.image:
        path = Path(name)
        if chosen.volume or not os.path.isdir(path) or kind_of(path) is not None:
            paths.append(path)
            check_out_is_not_input([path], chosen.out, "image")
        else:
            paths += images_in(path, accepts=lambda one: is_image(one) or VOLUME_OF.get(suffix_of(one)) in volumes)
            many = True
    check_unique_names(paths, "image")
    return paths, many or len(paths) > 1


def _job(path: Path, chosen, boxes, many: bool) -> Job:
    """Find the companion files of an image or volume: the file given, or the one of its name in the folder given.

    Raises InputError for --volume with an image, and for options that do not apply to volumes.
    """
    has_slices = is_volume(path, chosen.volume)
    if has_slices:
        check_options(chosen, "volumes")
    elif chosen.volume:
        raise InputError(
            f"image: {str(path)!r} is not a volume; pass a NIfTI, NRRD, MetaImage or .npy volume, a TIFF "
            "with many pages, a DICOM series or a folder of slices"
        )

    files: dict[str, Any] = {"further": further_files(path)} if has_slices else {}
    for option in (one for one in (*OPTIONS, "truth") if getattr(chosen, one) is not None):
        given = getattr(chosen, option)
        if option == "boxes":
            files[option] = boxes.get(path, ())
        elif option == "box":
            files[option] = parse_box(given)
        elif has_slices and (not many or kind_of(Path(given)) is not None):
            files[option] = Path(given)  # perhaps a folder of the marked slices
        else:
            files[option] = companion_of(given, stem_of(path), spelled(option))
    return Job(path, files)


# From files to files: of each kind of input, one function reads the files of a job; it returns what solves it, and a
# function that says what of the result is written and reported.  The files are, by option, paths, a box as four
# integers or a Detection, boxes as a tuple of Detections, the "masks" of `cutmatch refine`, and "further" files of a
# volume.


class Outcome(NamedTuple):
    """What is written and reported of a result.

    shape      of the image or volume
    files      by kind
    contents   by kind
    facts      entries of the report
    notes      messages for the user
    score      against the ground truth, if there is one
    """

    shape: tuple[int, ...]
    files: dict[str, Path]
    contents: dict[str, bytes]
    facts: dict
    notes: tuple[str, ...] = ()
    score: dict | None = None


Steps = tuple[Callable[[], Any], Callable[[Any], Outcome]]  # what finds a result, with `seconds`, and what it gives


def process(job: Job, chosen) -> dict:
    """Segment an image or a volume and write the results; return the report.

    Nothing is written before all of it succeeded.
    """
    solve, outcome_of = _read(job, chosen)
    result = solve()
    outcome = outcome_of(result)
    for kind, content in outcome.contents.items():
        write_bytes(outcome.files[kind], content)
    for note in outcome.notes:
        print_error(f"cutmatch {'refine' if 'masks' in job.files else 'segment'}: {job.image}: {note}")
    facts = outcome.facts | {"warnings": list(outcome.notes)}
    report = report_of({"image": str(job.image)}, outcome.shape, result.seconds, outcome.files, **facts)
    return report if outcome.score is None else report | {"truth": outcome.score}


def _read(job: Job, chosen) -> Steps:
    if "masks" in job.files:
        return _of_masks(job, chosen)
    if is_volume(job.image, chosen.volume):
        return _of_volume(job, chosen)
    if "boxes" in job.files:
        return _of_boxes(job, chosen)
    return _of_labels(job, chosen) if "label_strokes" in job.files else _of_object(job, chosen)


def _of_object(job: Job, chosen) -> Steps:
    """One object in an image."""
    from apps.common.row_blocks import concurrently

    read = concurrently(partial(read_photograph, job.image, keep_bytes=True))  # decoding need not wait for the imports
    from apps.segmentation.colour_models import prepare_lab
    from apps.segmentation.fit import find_labels
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.marks import OPEN
    from apps.segmentation.mask_scores import read_truth, score
    from apps.segmentation.model import ImageView

    rgb, metadata = read()
    concurrently(prepare_lab)
    hints = _read_location(job.files, chosen, rgb)
    truth = read_truth(job.files["truth"]) if "truth" in job.files else None
    if truth is not None:
        check_same_size(truth, rgb.shape[:2], "--truth")

    def outcome_of(result) -> Outcome:
        found = Found(job.image, rgb, metadata, result.mask, strokes=hints.marks)
        notes = (*hints.notes, *remarks_on(result.mask, result.rival is not None))
        facts = {"object_pixels": int(result.mask.sum()), "open_pixels": int((hints.marks == OPEN).sum())}
        facts |= {} if result.unsure is None else {"unsure_percent": round(100 * result.unsure, 2)}
        outcome = _of_image(
            found, chosen.kinds, chosen, facts | _rounds(result) | {"method": result.solved.method}, result.solved
        )
        scores = {} if truth is None else score(result.mask, truth, hints.marks)
        return outcome._replace(notes=notes, score={name: round(value, 4) for name, value in scores.items()} or None)

    view = ImageView(lambda: rgb, rgb.shape[:2])
    return partial(find_labels, view, hints, chosen.device, is_compared=chosen.many), outcome_of


def _read_location(hints: dict, chosen, rgb):
    """Read the hints of a job for an image, RGB (H, W, 3); InputError as the readers raise.

    hints       files by option; a box as four integers
    rgb         float in [0, 1], or uint8

    A file may have lost the paint of a colour, so strokes alone must be of both kinds.
    """
    from apps.segmentation.hints import ObjectOptions, combine, read_mask
    from apps.segmentation.strokes import check_marks, read_strokes, read_trimap

    strokes, name = None, "--strokes"
    if "strokes" in hints:
        strokes = read_strokes(hints["strokes"], chosen.encoding, to_bytes(rgb))
    elif "trimap" in hints:
        strokes, name = read_trimap(hints["trimap"]), "--trimap"
    mask = read_mask(hints["start"]) if "start" in hints else None
    options = ObjectOptions(chosen.keep, chosen.fill_holes, chosen.min_area)
    found = combine(rgb.shape[:2], strokes, hints.get("box"), name, mask, options)
    if not found.is_located:
        check_marks(found.marks, rgb.shape[:2], name)
    return found


def _of_labels(job: Job, chosen) -> Steps:
    """Several objects in an image, from strokes."""
    from apps.segmentation.multilabel import segment_labels
    from apps.segmentation.strokes import read_labels

    rgb, metadata = read_photograph(job.image)
    strokes = read_labels(job.files["label_strokes"], to_bytes(rgb), chosen.encoding)

    def outcome_of(result) -> Outcome:
        found = Found(job.image, rgb, metadata, labels=result.labels, values=result.values, strokes=strokes)
        return _of_image(found, chosen.kinds, chosen, {"pixels": _pixels(result)} | _rounds(result), result.solved)

    return partial(segment_labels, rgb, strokes, keep=chosen.keep or "touching", device=chosen.device), outcome_of


def _of_boxes(job: Job, chosen) -> Steps:
    """The objects of the boxes of a detector."""
    from apps.segmentation.instances import label_boxes

    rgb, metadata = read_photograph(job.image)
    boxes = job.files["boxes"]
    about = {
        value: {"name": one.name, "category": one.category, "score": one.score} for value, one in enumerate(boxes, 1)
    }

    def outcome_of(result) -> Outcome:
        found = Found(job.image, rgb, metadata, labels=result.labels, values=result.values, about=about)
        pixels = _pixels(result)
        objects = [
            {"value": value, **about[value], "box": box, "pixels": pixels[value]} for value, box in result.boxes.items()
        ]
        outcome = _of_image(found, chosen.kinds, chosen, {"objects": objects}, result)
        return outcome._replace(notes=result.notes if boxes else ("no box, so no object",))

    return partial(label_boxes, rgb, [one.box(rgb.shape) for one in boxes], device=chosen.device), outcome_of


def _of_masks(job: Job, chosen) -> Steps:
    """Masks of other programs, which are refined."""
    from apps.refinement.mask_files import read_masks
    from apps.refinement.refinement import refine_soft
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.masks import soft_masks_of

    file = job.files["masks"]
    values, kind = read_masks(file, job.image, chosen.kind)
    soft = soft_masks_of(values, kind, f"masks: {str(file)!r}")
    several = soft.labels is not None or (kind == "objects" and chosen.kind != "levels")
    kinds = kinds_of(chosen.write, "several objects" if several else "one object", has_strokes=False)
    rgb, metadata = read_photograph(job.image, keep_bytes=not several)

    def outcome_of(result) -> Outcome:
        found = Found(job.image, rgb, metadata, result.mask)
        found = found._replace(labels=result.labels, values=result.values) if several else found
        offsets = [[round(x, 2), round(y, 2)] for x, y in result.offsets]
        outcome = _of_image(found, kinds, chosen, {"pixels": _pixels(result), "offsets": offsets}, result)
        return outcome._replace(notes=(*result.notes, *remarks_on(result.mask)))

    return lambda: refine_soft(rgb, soft, chosen.grain, chosen.device), outcome_of


def _of_image(found: Found, kinds: tuple[str, ...], chosen, facts: dict, solved) -> Outcome:
    """The outcome with the files of an image; `solved` has the device."""
    several = found.labels is not None
    files = files_of(kinds, Path(chosen.out), stem_of(found.image), several, found.values)
    device = getattr(solved, "device", "cpu" if chosen.device == "auto" else chosen.device)
    contents = contents_of(found, files, getattr(chosen, "tolerance", TOLERANCE))
    return Outcome(found.rgb.shape[:2], files, contents, facts | {"device": device})


def _of_volume(job: Job, chosen) -> Steps:
    """Several objects in a volume from strokes, or one, from strokes or from a rough mask that strokes may correct."""
    from apps.common.figures import sections
    from apps.segmentation.hints import remarks_on

    volume = read_volume(job.image, folder=chosen.volume)
    values, several = volume.values, "label_strokes" in job.files
    if values.min() == values.max():
        raise InputError(
            f"image: {str(job.image)!r} is constant: every voxel is {values.flat[0]}; pass a volume with contrast"
        )
    stated = SPACING if volume.geometry is None else map(float, volume.geometry.spacing)
    spacing = tuple(stated if chosen.spacing is None else chosen.spacing)
    solve = _volume_solve(job, chosen, volume, {"spacing": spacing, "device": chosen.device})

    def outcome_of(result) -> Outcome:
        if several:
            labels, counted = result.labels, _pixels(result)
        else:
            labels, counted = result.mask.astype(np.uint8), {1: int(result.mask.sum())}
        main, start = "labels" if several else "mask", Path(chosen.out, stem_of(job.image))
        files = {
            main: Path(f"{start}-{main}{result_suffix(job.image, chosen.volume)}"),
            "slices": Path(f"{start}-slices.png"),
        }
        contents = {
            main: encoded_volume(labels, volume),
            "slices": encoded_image(sections(values, labels, list(counted), spacing), ".png"),
        }
        if several:
            files["legend"] = Path(f"{start}-labels.json")
            contents["legend"] = encoded_legend(job.image, labels, annotations_of(labels, counted))
        facts = _sizes(chosen, volume.geometry, spacing, counted) | _rounds(result) | {"device": result.solved.device}
        notes = remarks_on(result.mask) if "strokes" in job.files else ()
        return Outcome(values.shape, files, contents, facts, notes)

    return solve, outcome_of


def _volume_solve(job: Job, chosen, volume, options: dict) -> Callable[[], Any]:
    """The function that segments a volume."""
    from apps.segmentation.multilabel import segment_volume
    from apps.segmentation.volume_object import (
        read_label_volume,
        read_volume_marks,
        read_volume_mask,
        refine_mask,
        segment_object,
    )

    hints, values = job.files, volume.values
    if "label_strokes" in hints:
        strokes = read_label_volume(hints["label_strokes"], volume=volume)
        return partial(segment_volume, values, strokes, keep=chosen.keep or "touching", **options)
    marks: Any = None
    if "strokes" in hints:
        is_alone = "start" not in hints
        marks = read_volume_marks(hints["strokes"], chosen.encoding, volume, both=is_alone)
    if "start" not in hints:
        return partial(segment_object, values, marks, keep=chosen.keep or "touching", **options)
    start = read_volume_mask(hints["start"], volume)
    band = BAND if chosen.band is None else chosen.band
    return partial(refine_mask, values, start, strokes=marks, band=band, keep=chosen.keep or "all", **options)


def _sizes(chosen, geometry: Geometry | None, spacing, counted) -> dict:
    """The part of a report about numbers of voxels, their size and the volumes."""
    unit = geometry.unit if geometry is not None else None
    voxel = float(np.prod(spacing))
    known = geometry is not None or chosen.spacing is not None
    return {
        "pixels": counted,
        "volumes": {value: round(count * voxel, 6) for value, count in counted.items()},
        "volume_unit": f"{unit or 'unit'}³" if known else "voxels",
        "spacing": list(spacing),
        "spacing_from": "--spacing" if chosen.spacing is not None else "file" if geometry is not None else "default",
        "unit": unit,
    }


def _pixels(result) -> dict[int, int]:
    return {value: int((result.labels == value).sum()) for value in result.values}


def _rounds(result) -> dict:
    return {"energies": [round(energy, 3) for energy in result.energies], "rounds": len(result.energies)}


def line(report) -> str:
    """Summary line of a report."""
    size = "x".join(str(report[side]) for side in ("width", "height", "depth") if side in report)
    text = f"{report['image']}: {size}, {_found(report)}, "
    if "energies" in report:
        text += f"{report['rounds']} round{'s' * (report['rounds'] != 1)}, energy {report['energies'][-1]:.0f}, "
    text += f"{shown_seconds(report['seconds'])} -> {next(iter(report['files'].values()))}"
    return text + summary([report])


def summary(reports) -> str:
    """Mean scores of the reports with a ground truth, and the results to look at first."""
    means = mean_scores(reports, "iou_percent", "error_percent")
    text = "; mean IoU {:.2f} %, mean error {:.2f} %".format(*means) if means else ""
    unsure = look_first(reports)[:MAX_LISTED] if len(reports) > 1 else []
    shown = ", ".join(f"{Path(one['image']).name} ({one['unsure_percent']:.0f} %)" for one in unsure)
    return text + (f"; look first at {shown}" if shown else "")


def look_first(reports) -> list[dict]:
    """The reports of results that are unsure, the most unsure one first."""
    unsure = [one for one in reports if one.get("unsure_percent", 0) >= MIN_UNSURE]
    return sorted(unsure, key=lambda one: -one["unsure_percent"])


def _found(report) -> str:
    """What was found, for the line of a report."""
    if "object_pixels" in report:
        return f"object {100.0 * report['object_pixels'] / (report['width'] * report['height']):.1f} %"
    if "objects" in report:
        count = len(report["objects"])
        return f"{count} box{'es' * (count != 1)}"
    if "offsets" in report:
        count = len(report["pixels"])
        share = 100.0 * sum(report["pixels"].values()) / (report["width"] * report["height"])
        return f"{count} object{'s' * (count != 1)}, {share:.1f} %"
    if "volumes" not in report:
        return f"{len(report['pixels'])} labels"
    unit, volumes = report["volume_unit"], report["volumes"]
    listed = [f"{value}: {volume:.6g} {unit}" for value, volume in list(volumes.items())[:MAX_LISTED]]
    if "mask" in report["files"]:
        return f"object {listed[0].partition(': ')[2]}"
    return f"{len(volumes)} labels ({', '.join(listed)}{', ...' if len(volumes) > MAX_LISTED else ''})"


PROGRAM = Program("segment", __doc__, "image", ("image", *OPTIONS, "truth"), _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
