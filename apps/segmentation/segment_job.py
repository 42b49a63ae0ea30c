"""Process one image or volume of `cutmatch segment`, or one image of `cutmatch refine`: from files to files.

The files of a job are, by option, paths, a box as four integers or a Detection, boxes as a tuple of Detections, the
"masks" of other programs, and "further" files of a volume.  Each kind of input is a `Problem`: what was read, what
solves it, and what of the result is written and reported.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from apps.common.clock import Clock, shown_seconds, timed
from apps.common.errors import InputError, print_error
from apps.common.images import check_same_size, read_codes, read_photograph, to_bytes, write_bytes
from apps.common.stems import stem_of
from apps.common.writing import encoded_image
from apps.run.inputs import Job
from apps.run.program import mean_scores, report_of
from apps.segmentation import BAND, CONNECTIVITIES, SPACING
from apps.segmentation.location import read_location
from apps.segmentation.result_files import Found, contents_of, files_of
from apps.segmentation.strokes import codes_and_colours
from apps.volumes.volume_files import is_volume, read_volume, result_suffix, write_labels
from apps.volumes.voxel_geometry import Geometry

MAX_LISTED = 6  # labels whose volumes are printed, and images to look at first
MIN_UNSURE = 5  # percent of the object, from which a result is unsure


class Problem(NamedTuple):
    """What was read for a job, and functions of the result.

    solve      () -> the result, with `seconds`
    contents   -> (files by kind, contents by kind: bytes, or a function that writes the file)
    facts      -> entries of the report
    notes      -> messages for the user; called after the files are written
    score      -> scores against the ground truth, if there is one
    """

    shape: tuple[int, ...]
    solve: Callable[[], Any]
    contents: Callable[[Any], tuple[dict[str, Path], dict[str, Any]]]
    facts: Callable[[Any], dict]
    notes: Callable[[Any], tuple[str, ...]] = lambda result: ()
    score: Callable[[Any], dict] | None = None


def process(job: Job, chosen) -> dict:
    """Segment an image or a volume and write the results; return the report.

    Nothing is written before all of it succeeded.
    """
    clock = Clock()
    problem = _read(job, chosen)
    clock.charge("strokes")
    result = problem.solve()
    files, contents = problem.contents(result)
    clock.charge("figures")
    for kind, content in contents.items():
        if callable(content):
            content()
        else:
            write_bytes(files[kind], content)
    clock.charge("write")
    notes = problem.notes(result)
    for note in notes:
        print_error(f"cutmatch {'refine' if 'masks' in job.files else 'segment'}: {job.image}: {note}")
    named, facts = {"image": str(job.image)}, problem.facts(result)
    report = report_of(named, problem.shape, result.seconds, files, **facts, warnings=list(notes))
    if problem.score is not None:
        report["truth"] = problem.score(result)
        clock.charge("scores")
    return report


def volume_files(path: Path, chosen) -> dict[str, Path]:
    """Output files of a volume by kind, first that of its mask or labels."""
    main = "labels" if chosen.label_strokes is not None else "mask"
    folder, stem = Path(chosen.out), stem_of(path)
    files = {main: folder / f"{stem}-{main}{result_suffix(path, chosen.volume)}"}
    files["slices"] = folder / f"{stem}-slices.png"
    return files if main == "mask" else files | {"legend": folder / f"{stem}-labels.json"}


def _read(job: Job, chosen) -> Problem:
    if "masks" in job.files:
        return _of_masks(job, chosen)
    if is_volume(job.image, chosen.volume):
        return _of_volume(job, chosen)
    if "boxes" in job.files:
        return _of_boxes(job, chosen)
    return _of_labels(job, chosen) if "label_strokes" in job.files else _of_object(job, chosen)


def _of_object(job: Job, chosen) -> Problem:
    """One object in an image."""
    pool = ThreadPoolExecutor(2, "cutmatch-read")  # decoding the files does not have to wait for the imports
    reading = pool.submit(read_photograph, job.image, keep_bytes=True)
    file = job.files.get("strokes")
    reading_strokes = pool.submit(lambda: file and codes_and_colours(file, "--strokes"))
    pool.shutdown(wait=False)
    with timed("import"):
        from apps.common.row_blocks import concurrently
        from apps.segmentation.colour_models import prepare_lab
        from apps.segmentation.hints import remarks_on
        from apps.segmentation.marks import OPEN
        from apps.segmentation.mask_scores import read_truth, score
        from apps.segmentation.segmentation import segment_marked
    with timed("read"):
        rgb, metadata = reading.result()
        strokes = reading_strokes.result()
    concurrently(prepare_lab)
    hints = read_location(job.files, chosen, rgb, strokes)
    marks = hints.marks
    truth: Any = read_truth(job.files["truth"]) if "truth" in job.files else None
    if truth is not None:
        check_same_size(truth, rgb.shape[:2], "--truth")

    def facts(result):
        counts = {"object_pixels": int(result.mask.sum()), "open_pixels": int((marks == OPEN).sum())}
        counts |= {} if result.unsure is None else {"unsure_percent": round(100 * result.unsure, 2)}
        return counts | _rounds(result) | {"device": result.device, "method": result.method}

    def notes(result):
        found = (*hints.notes, *remarks_on(result.mask, hints.strokes, result.rival))
        if chosen.save_session is not None:
            from apps.session.store import Store, stored_of

            with Store(chosen.save_session, "--save-session", replaces=True) as store:
                store.begin(job.image.name, rgb, rgb.shape[:2], stored_of(hints, result.mask), "started")
        elif chosen.resume_session is not None and len(job.files.keys() - {"truth"}) > 1:
            found += (f"{chosen.resume_session} was not changed; pass --save-session to keep what was added",)
        return found

    def scores(result):
        found = score(result.mask, truth, marks)
        return {f"{name}_percent": round(getattr(found, name), 4) for name in found.__slots__}

    def contents(result):
        return _image_contents(chosen.kinds, chosen, Found(job.image, rgb, metadata, result.mask, strokes=marks))

    solve = partial(segment_marked, rgb, hints, device=chosen.device, is_compared=chosen.many)
    return Problem(rgb.shape[:2], solve, contents, facts, notes, None if truth is None else scores)


def _of_labels(job: Job, chosen) -> Problem:
    """Several objects in an image, from strokes."""
    with timed("import"):
        from apps.segmentation.marks import label_values
        from apps.segmentation.mask_scores import check_label_truth, label_score
        from apps.segmentation.multilabel import segment_labels
        from apps.segmentation.strokes import read_labels
    rgb, metadata = read_photograph(job.image)
    strokes = read_labels(job.files["label_strokes"], to_bytes(rgb), chosen.encoding)
    truth: Any = None
    if "truth" in job.files:
        file = job.files["truth"]
        codes = read_codes(file, "--truth")
        truth = label_values(codes[..., 0] if codes.ndim == 3 else codes, f"--truth: {str(file)!r}")
        check_label_truth(truth, rgb.shape[:2])

    def contents(result):
        found = Found(job.image, rgb, metadata, labels=result.labels, values=result.values, strokes=strokes)
        return _image_contents(chosen.kinds, chosen, found)

    def facts(result):
        return {"pixels": _pixels(result)} | _rounds(result) | {"device": result.solved.device}

    solve = partial(segment_labels, rgb, strokes, keep=chosen.keep or "touching", device=chosen.device)
    score = None if truth is None else lambda result: label_score(result.labels, truth, strokes)
    return Problem(rgb.shape[:2], solve, contents, facts, score=score)


def _of_boxes(job: Job, chosen) -> Problem:
    """The objects of the boxes of a detector."""
    with timed("import"):
        from apps.segmentation.instances import label_boxes
    rgb, metadata = read_photograph(job.image)
    boxes = job.files["boxes"]
    about = {
        value: {"name": one.name, "category": one.category, "score": one.score} for value, one in enumerate(boxes, 1)
    }

    def contents(result):
        found = Found(job.image, rgb, metadata, labels=result.labels, values=result.values, about=about)
        return _image_contents(chosen.kinds, chosen, found)

    def facts(result):
        pixels = np.bincount(result.labels.ravel(), minlength=len(boxes) + 1)
        objects = [
            {"value": value, **about[value], "box": box, "pixels": int(pixels[value])}
            for value, box in result.boxes.items()
        ]
        return {"objects": objects, "device": result.device}

    solve = partial(label_boxes, rgb, [one.box(rgb.shape) for one in boxes], device=chosen.device)
    notes = (lambda result: result.notes) if boxes else lambda result: ("no box, so no object",)
    return Problem(rgb.shape[:2], solve, contents, facts, notes)


def _of_masks(job: Job, chosen) -> Problem:
    """Masks of other programs, which are refined."""
    with timed("import"):
        from apps.refinement.mask_files import read_masks
        from apps.refinement.refinement import refine_soft
        from apps.segmentation.hints import remarks_on
        from apps.segmentation.masks import soft_masks_of
        from apps.segmentation.result_files import check_kinds
    file = job.files["masks"]
    values, kind = read_masks(file, job.image, chosen.kind)
    soft = soft_masks_of(values, kind, f"masks: {str(file)!r}")
    several = soft.labels is not None or (kind == "objects" and chosen.kind != "levels")
    kinds = check_kinds(chosen.write, several, strokes=False)
    rgb, metadata = read_photograph(job.image, keep_bytes=not several)

    def contents(result):
        found = Found(job.image, rgb, metadata, result.mask)
        return _image_contents(
            kinds, chosen, found._replace(labels=result.labels, values=result.values) if several else found
        )

    def facts(result):
        offsets = [[round(x, 2), round(y, 2)] for x, y in result.offsets]
        return {
            "pixels": _pixels(result),
            "offsets": offsets,
            "device": "cpu" if chosen.device == "auto" else chosen.device,
        }

    return Problem(
        rgb.shape[:2],
        lambda: refine_soft(rgb, soft, chosen.grain, chosen.device, Clock()),
        contents,
        facts,
        lambda result: (*result.notes, *remarks_on(result.mask)),
    )


def _image_contents(kinds: tuple[str, ...], chosen, found: Found) -> tuple[dict[str, Path], dict[str, bytes]]:
    several = found.labels is not None
    files = files_of(kinds, Path(chosen.out), stem_of(found.image), several, found.values)
    return files, contents_of(found, files)


def _of_volume(job: Job, chosen) -> Problem:
    """Several objects in a volume from strokes, or one, from strokes or from a rough mask that strokes may correct."""
    with timed("import"):
        from apps.common.figures import sections
        from apps.segmentation.hints import remarks_on
        from apps.segmentation.label_figures import annotations_of, encoded_legend
        from apps.segmentation.mask_scores import check_label_truth, label_score
        from apps.segmentation.volumes import read_label_volume, read_object_truth
    with timed("read"):
        volume = read_volume(job.image, folder=chosen.volume)
    values, several = volume.values, "label_strokes" in job.files
    if values.min() == values.max():
        raise InputError(
            f"image: {str(job.image)!r} is constant: every voxel is {values.flat[0]}; pass a volume with contrast"
        )
    spacing = _spacing(chosen, volume.geometry)
    options = {"connectivity": chosen.connectivity or CONNECTIVITIES[0], "spacing": spacing, "device": chosen.device}
    truth: Any = None
    if "truth" in job.files:
        file = job.files["truth"]
        read = partial(read_label_volume, file, "--truth") if several else partial(read_object_truth, file)
        truth = read(volume, job.image)
        check_label_truth(truth, values.shape)
    solve, strokes = _volume_solve(job, chosen, volume, options)

    def written(result):
        """The labels that are written, and the number of voxels of each."""
        if several:
            return result.labels, _pixels(result)
        return result.mask.astype(np.uint8), {1: int(result.mask.sum())}

    def contents(result):
        labels, counted = written(result)
        files = volume_files(job.image, chosen)
        found = {
            next(iter(files)): partial(write_labels, next(iter(files.values())), labels, volume),
            "slices": encoded_image(sections(values, labels, list(counted), spacing), ".png"),
        }
        if "legend" in files:
            found["legend"] = encoded_legend(job.image, labels, annotations_of(labels, counted))
        return files, found

    def facts(result):
        sizes = _sizes(chosen, volume.geometry, spacing, written(result)[1])
        return sizes | _rounds(result) | {"device": result.solved.device}

    def score(result):
        if several:
            return label_score(result.labels, truth, strokes)
        return label_score(np.where(result.mask, np.uint8(1), np.uint8(2)), truth, result.fixed + 1)

    def notes(result):
        return remarks_on(result.mask, result.fixed) if "strokes" in job.files else ()

    return Problem(values.shape, solve, contents, facts, notes, None if truth is None else score)


def _volume_solve(job: Job, chosen, volume, options: dict) -> tuple[Callable[[], Any], Any]:
    """The function that segments a volume, and the strokes of several objects."""
    from apps.segmentation.multilabel import segment_volume
    from apps.segmentation.volume_object import refine_mask, segment_object
    from apps.segmentation.volumes import read_label_volume, read_volume_marks, read_volume_mask

    hints, values = job.files, volume.values
    if "label_strokes" in hints:
        strokes = read_label_volume(hints["label_strokes"], "--label-strokes", volume, job.image)
        return partial(segment_volume, values, strokes, keep=chosen.keep or "touching", **options), strokes
    marks: Any = None
    if "strokes" in hints:
        is_alone = "start" not in hints
        marks = read_volume_marks(hints["strokes"], chosen.encoding, volume, job.image, both=is_alone)
    if "start" not in hints:
        how = {"keep": chosen.keep or "touching", "fill_holes": chosen.fill_holes, "min_volume": chosen.min_area}
        return partial(segment_object, values, marks, **how, **options), None
    start = read_volume_mask(hints["start"], volume)
    band = BAND if chosen.band is None else chosen.band
    return partial(refine_mask, values, start, strokes=marks, band=band, keep=chosen.keep or "all", **options), None


def _sizes(chosen, geometry: Geometry | None, spacing, counted) -> dict:
    """The part of a report about numbers of voxels, their size and the volumes."""
    unit = geometry.unit if geometry is not None else None
    voxel = float(np.prod(spacing))
    known = geometry is not None or chosen.spacing is not None
    sizes = {
        "pixels": counted,
        "volumes": {value: round(count * voxel, 6) for value, count in counted.items()},
        "volume_unit": f"{unit or 'unit'}³" if known else "voxels",
        "spacing": list(spacing),
        "spacing_from": "--spacing" if chosen.spacing is not None else "file" if geometry is not None else "default",
        "unit": unit,
    }
    if geometry is not None:
        if chosen.spacing is not None:
            sizes["spacing_in_file"] = list(geometry.spacing)
        sizes["origin"], sizes["direction"] = geometry.origin, geometry.direction
    return sizes


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
    if "truth" in report and "object_pixels" in report:
        return text + f"; IoU {report['truth']['iou_percent']:.1f} %, error {report['truth']['error_percent']:.2f} %"
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
