"""Process one image or volume of `cutmatch segment`, or one image of `cutmatch refine`: from files to files.

The files of a job are, by option, paths, a box as four integers or a Detection, boxes as a tuple of Detections, the
"masks" of other programs, and "further" files of a volume.  Of each kind of input, one function reads it: it returns
what solves it, and a function that says what of the result is written and reported.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.common.annotations import TOLERANCE
from apps.common.clock import shown_seconds
from apps.common.errors import InputError, print_error
from apps.common.file_kinds import stem_of
from apps.common.images import check_same_size, read_photograph, to_bytes, write_bytes
from apps.common.writing import encoded_image
from apps.run.inputs import Job
from apps.run.program import mean_scores, report_of
from apps.segmentation import BAND, SPACING
from apps.segmentation.location import read_location
from apps.segmentation.result_files import Found, annotations_of, contents_of, encoded_legend, files_of, kinds_of
from apps.volumes.volume_files import encoded_volume, is_volume, read_volume, result_suffix
from apps.volumes.voxel_geometry import Geometry

MAX_LISTED = 6  # labels whose volumes are printed, and images to look at first
MIN_UNSURE = 5  # percent of the object, from which a result is unsure


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


def volume_files(path: Path, chosen) -> dict[str, Path]:
    """Output files of a volume by kind, first that of its mask or labels."""
    main = "labels" if chosen.label_strokes is not None else "mask"
    folder, stem = Path(chosen.out), stem_of(path)
    files = {main: folder / f"{stem}-{main}{result_suffix(path, chosen.volume)}"}
    files["slices"] = folder / f"{stem}-slices.png"
    return files if main == "mask" else files | {"legend": folder / f"{stem}-labels.json"}


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
    hints = read_location(job.files, chosen, rgb)
    truth = read_truth(job.files["truth"]) if "truth" in job.files else None
    if truth is not None:
        check_same_size(truth, rgb.shape[:2], "--truth")

    def outcome_of(result) -> Outcome:
        found = Found(job.image, rgb, metadata, result.mask, strokes=hints.marks)
        rival = None if result.rival is None else result.rival.mask
        notes = (*hints.notes, *remarks_on(result.mask, rival))
        facts = {"object_pixels": int(result.mask.sum()), "open_pixels": int((hints.marks == OPEN).sum())}
        facts |= {} if result.unsure is None else {"unsure_percent": round(100 * result.unsure, 2)}
        outcome = _of_image(
            found, chosen.kinds, chosen, facts | _rounds(result) | {"method": result.solved.method}, result.solved
        )
        scores = {} if truth is None else score(result.mask, truth, hints.marks)
        return outcome._replace(notes=notes, score={name: round(value, 4) for name, value in scores.items()} or None)

    view = ImageView(lambda: rgb, rgb.shape[:2])
    return partial(find_labels, view, hints, chosen.device, is_compared=chosen.many), outcome_of


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
    spacing = _spacing(chosen, volume.geometry)
    solve = _volume_solve(job, chosen, volume, {"spacing": spacing, "device": chosen.device})

    def outcome_of(result) -> Outcome:
        if several:
            labels, counted = result.labels, _pixels(result)
        else:
            labels, counted = result.mask.astype(np.uint8), {1: int(result.mask.sum())}
        files = volume_files(job.image, chosen)
        main = next(iter(files))
        contents = {
            main: encoded_volume(labels, volume),
            "slices": encoded_image(sections(values, labels, list(counted), spacing), ".png"),
        }
        if "legend" in files:
            contents["legend"] = encoded_legend(job.image, labels, annotations_of(labels, counted))
        facts = _sizes(chosen, volume.geometry, spacing, counted) | _rounds(result) | {"device": result.solved.device}
        notes = remarks_on(result.mask) if "strokes" in job.files else ()
        return Outcome(values.shape, files, contents, facts, notes)

    return solve, outcome_of


def _volume_solve(job: Job, chosen, volume, options: dict) -> Callable[[], Any]:
    """The function that segments a volume."""
    from apps.segmentation.multilabel import segment_volume
    from apps.segmentation.volume_object import refine_mask, segment_object
    from apps.segmentation.volumes import read_label_volume, read_volume_marks, read_volume_mask

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


def _spacing(chosen, geometry: Geometry | None) -> tuple[float, ...]:
    if chosen.spacing is not None:
        return tuple(chosen.spacing)
    return SPACING if geometry is None else tuple(map(float, geometry.spacing))


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
