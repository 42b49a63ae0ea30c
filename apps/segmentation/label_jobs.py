"""Process one image of `cutmatch segment --label-strokes` or `--boxes`: several objects, from files to files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.clock import Clock, shown_seconds
from apps.common.errors import print_error
from apps.common.images import read_codes, read_photograph, to_bytes, write_bytes
from apps.common.stems import stem_of
from apps.common.writing import Metadata, encoded_image
from apps.run.program import mean_scores, report_of
from apps.segmentation.box_files import Detection
from apps.segmentation.result_files import label_files_of, rounds_of, rounds_text
from apps.segmentation.volume_jobs import VolumeJob, segment_volume_files, volume_line, volume_results


@dataclass(frozen=True, slots=True)
class Job:
    """Paths of an image and its strokes, or its boxes; and of its ground truth if known."""

    image: Path
    strokes: Path | None = None
    truth: Path | None = None
    boxes: tuple[Detection, ...] = ()


def results_of(image: Path, chosen) -> tuple[Path, ...]:
    """Output files of an image or volume, except the cut-outs."""
    files = label_files_of(chosen.kinds, Path(chosen.out), stem_of(image))
    return volume_results(image, chosen) or tuple(files.values())


def families_of(image: Path, chosen) -> tuple[str, ...]:
    """Prefix of the names of the cut-outs, if there are any; the object's value follows."""
    return (f"{stem_of(image)}-object",) if "cutout" in chosen.kinds else ()


def segment(job: Job | VolumeJob, chosen) -> dict:
    """Segment several objects in an image or volume and write the results; return the report."""
    if isinstance(job, VolumeJob):
        return segment_volume_files(job, chosen)
    if job.strokes is None:
        return cut_boxes(job.image, job.boxes, chosen)
    return label_image(job.image, job.strokes, job.truth, chosen)


def cut_boxes(image: Path, detections: tuple[Detection, ...], chosen) -> dict:
    """Cut out the object of every box; write the files of `chosen.kinds`; return the report."""
    from apps.segmentation.instances import label_boxes

    clock = Clock()
    rgb, metadata = read_photograph(image)
    result = label_boxes(rgb, [one.box(rgb.shape) for one in detections], device=chosen.device)
    named = dict(enumerate(detections, 1))
    files = label_files_of(chosen.kinds, Path(chosen.out), stem_of(image), result.values)
    for kind, content in contents(image, rgb, metadata, None, result, files, named).items():
        write_bytes(files[kind], content)
    clock.charge("figures")
    notes = result.notes if detections else ("no box, so no object",)
    for note in notes:
        print_error(f"cutmatch segment: {image}: {note}")
    pixels = np.bincount(result.labels.ravel(), minlength=len(named) + 1)
    objects = [
        {"value": value, "name": one.name, "category": one.category, "score": one.score, "box": result.boxes[value]}
        for value, one in named.items()
        if value in result.boxes
    ]
    return report_of(
        {"image": str(image)},
        result.labels.shape,
        result.seconds,
        files,
        objects=[one | {"pixels": int(pixels[one["value"]])} for one in objects],
        device=result.device,
        warnings=list(notes),
    )


def label_image(image: Path, strokes_file: Path, truth_file: Path | None, chosen) -> dict:
    """Segment an image; write the files of `chosen.kinds`, with a cut-out per object; return the report."""
    from apps.segmentation.marks import label_values
    from apps.segmentation.mask_scores import check_label_truth, label_score
    from apps.segmentation.multilabel import segment_labels
    from apps.segmentation.strokes import read_labels

    clock = Clock()
    rgb, metadata = read_photograph(image)
    strokes = read_labels(strokes_file, to_bytes(rgb), chosen.encoding)
    truth = None
    if truth_file is not None:
        truth = read_codes(truth_file, "--truth")
        truth = label_values(truth[..., 0] if truth.ndim == 3 else truth, f"--truth: {str(truth_file)!r}")
        check_label_truth(truth, rgb.shape[:2])
    clock.charge("strokes")
    result = segment_labels(rgb, strokes, keep=chosen.keep or "touching", device=chosen.device)
    files = label_files_of(chosen.kinds, Path(chosen.out), stem_of(image), result.values)
    encoded = contents(image, rgb, metadata, strokes, result, files)
    clock.charge("figures")
    for kind, content in encoded.items():
        write_bytes(files[kind], content)
    report = report_of(
        {"image": str(image)},
        result.labels.shape,
        result.seconds,
        files,
        pixels={value: int((result.labels == value).sum()) for value in result.values},
        **rounds_of(result),
        device=result.solved.device,
    )
    if truth is not None:
        report["truth"] = label_score(result.labels, truth, strokes)
    return report


def contents(
    image: Path, rgb, metadata: Metadata, strokes, result, files: dict[str, Path], detections=None
) -> dict[str, bytes]:
    """Contents of the files of an image with several objects, by kind, with the names of the detections if any."""
    from apps.common.annotations import encoded_annotations
    from apps.common.figures import colour_of, labels_overlay, strokes_figure
    from apps.segmentation.label_figures import annotations_of, encoded_labels, encoded_legend
    from apps.segmentation.matte import cut_out

    labels, values = result.labels, result.values
    found = {}
    for kind, path in files.items():
        if kind == "labels":
            found[kind] = encoded_labels(labels, metadata)
        elif kind == "legend":
            found[kind] = encoded_legend(image, labels, annotations_of(labels, values, detections))
        elif kind in ANNOTATIONS:
            objects = annotations_of(labels, values, detections)
            found[kind] = encoded_annotations(kind, path, image, labels.shape, objects)
        else:
            if kind == "overlay":
                figure = labels_overlay(rgb, labels)
            elif kind == "strokes":
                colours = {value: np.array(colour_of(value)) / np.float32(255) for value in values}
                figure = strokes_figure(rgb, strokes, colours=colours)
            else:
                figure = cut_out(rgb, labels == int(kind.removeprefix("object")))
            found[kind] = encoded_image(figure, ".png", metadata)
    return found


def line(report) -> str:
    """Summary line of a report."""
    if "depth" in report:
        return volume_line(report)
    size = f"{report['width']}x{report['height']}"
    if "objects" in report:
        count, first = len(report["objects"]), next(iter(report["files"].values()))
        boxes = f"{count} box{'es' * (count != 1)}"
        return f"{report['image']}: {size}, {boxes}, {shown_seconds(report['seconds'])} -> {first}"
    text = (
        f"{report['image']}: {size}, {len(report['pixels'])} labels, {rounds_text(report)}, energy "
        f"{report['energies'][-1]:.0f}, {shown_seconds(report['seconds'])} -> {next(iter(report['files'].values()))}"
    )
    return text + summary([report])


def summary(reports) -> str:
    """Mean scores of the reports with a ground truth."""
    means = mean_scores(reports, "iou_percent", "error_percent")
    return "; mean IoU {:.2f} %, mean error {:.2f} %".format(*means) if means else ""
