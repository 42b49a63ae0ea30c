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
from functools import partial
from pathlib import Path
from typing import Any

from apps.common.annotations import TOLERANCE
from apps.common.command import passed, spelled, three_numbers
from apps.common.errors import InputError
from apps.common.file_kinds import VOLUME_OF, is_image, stem_of, suffix_of
from apps.run.inputs import (
    Job,
    check_out_is_not_input,
    check_unique_names,
    companion_of,
    image_items,
    images_in,
)
from apps.run.program import Program, Work
from apps.segmentation import BAND, KEEP, clip_job, segment_job
from apps.segmentation.box_files import read_boxes
from apps.segmentation.location import OPTIONS, check_files, check_location, check_options
from apps.segmentation.result_files import ALL_KINDS, kinds_of, merged_files, write_merged
from apps.segmentation.segment_job import look_first
from apps.segmentation.strokes import ENCODINGS, parse_box
from apps.volumes.volume_files import further_files, is_volume, kind_of


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
    lines = segment_job.line, segment_job.summary
    return Work(items, many, segment_job.process, *lines, finish=finish, named=named)


def _finish(kinds: tuple[str, ...], folder: Path, reports: list[dict]) -> dict:
    """Write the annotations of a batch; return its files, and the images to look at first."""
    return write_merged(kinds, folder, reports) | {"look_first": [one["image"] for one in look_first(reports)]}


def inputs_of(chosen) -> tuple[list[Path], bool]:
    """Images and volumes, named or in a folder named, and whether to process them as a batch.

    A folder is a volume if it is a DICOM series, and with --volume also if it holds slices.
    """
    paths, many = [], False
    for name in chosen.image:
        path = Path(name)
        if chosen.volume or not os.path.isdir(path) or kind_of(path) is not None:
            paths.append(path)
            check_out_is_not_input([path], chosen.out, "image")
        else:
            paths += images_in(path, accepts=_is_input_of_folder)
            many = True
    check_unique_names(paths, "image")
    return paths, many or len(paths) > 1


def _is_input_of_folder(path: Path) -> bool:
    return is_image(path) or VOLUME_OF.get(suffix_of(path)) in ("NIfTI", "NRRD", "MetaImage")


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


PROGRAM = Program("segment", __doc__, "image", ("image", *OPTIONS, "truth"), _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
