"""Process one image of `cutmatch segment`: a single object, from files to files."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.clock import Clock, shown_seconds, timed
from apps.common.command import spelled
from apps.common.errors import print_error
from apps.common.images import check_same_size, read_photograph, write_bytes
from apps.common.stems import stem_of
from apps.common.writing import encoded_image
from apps.run.inputs import companion_of
from apps.run.program import report_of
from apps.segmentation.box_files import boxes_of
from apps.segmentation.location import FILES, OPTIONS, read_location
from apps.segmentation.result_files import files_of, rounds_of, rounds_text
from apps.segmentation.strokes import codes_and_colours, parse_box
from apps.segmentation.volume_jobs import VolumeJob, segment_volume_files, volume_job, volume_line, volume_results


@dataclass(frozen=True, slots=True)
class Job:
    """Paths of an image, of the hints by option (a box as four integers or a Detection), and of the ground truth."""

    image: Path
    hints: dict[str, Any]
    truth: Path | None


def job_of(chosen, boxes, many: bool, image: Path) -> Job | VolumeJob:
    """Find the companion files of an image: the file given, or the one of its name in the folder given."""
    if found := volume_job(image, chosen, many):
        return found
    hints: dict[str, Any] = {}
    for option in OPTIONS:
        if (given := getattr(chosen, option)) is None:
            continue
        if option == "box":
            hints[option] = parse_box(given) if boxes is None else boxes_of(boxes, image)[0]
        else:
            hints[option] = companion_of(given, stem_of(image), spelled(option)) if option in FILES else Path(given)
    return Job(image, hints, companion_of(chosen.truth, stem_of(image), "--truth"))


def results_of(image: Path, chosen) -> tuple[Path, ...]:
    """Output files of an image or volume."""
    return volume_results(image, chosen) or tuple(files_of(chosen.kinds, Path(chosen.out), stem_of(image)).values())


def segment(job: Job | VolumeJob, chosen) -> dict:
    """Segment one object in an image or volume and write the results; return the report.

    Nothing is written before all of it succeeded.
    """
    if isinstance(job, VolumeJob):
        return segment_volume_files(job, chosen)
    clock, reading = Clock(), _Reading(job)  # decoding the files does not have to wait for the imports
    from apps.common.annotations import Annotation
    from apps.common.figures import colour_of
    from apps.common.row_blocks import concurrently
    from apps.segmentation.colour_models import prepare_lab
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.marks import OPEN
    from apps.segmentation.mask_scores import read_truth, score
    from apps.segmentation.segmentation import segment_marked

    clock.charge("import")
    with timed("read"):
        rgb, metadata = reading.photograph.result()
        strokes = reading.strokes.result()
    shape = rgb.shape[:2]
    concurrently(prepare_lab)
    hints = read_location(job.hints, chosen, rgb, strokes)
    marks = hints.marks
    truth = read_truth(job.truth) if job.truth is not None else None
    if truth is not None:
        check_same_size(truth, shape, "--truth")
    clock.charge("strokes")
    result = segment_marked(rgb, hints, device=chosen.device)
    notes = (*hints.notes, *remarks_on(result.mask, hints.strokes))
    files = files_of(chosen.kinds, Path(chosen.out), stem_of(job.image))
    found = Annotation("object", 1, colour_of(1), result.mask)
    encoded = contents(files, job.image, rgb, metadata, marks, found)
    clock.charge("figures")
    for kind, content in encoded.items():
        write_bytes(files[kind], content)
    if chosen.save_session is not None:
        from apps.session.store import Store, stored_of

        with Store(chosen.save_session, "--save-session", replaces=True) as store:
            store.begin(job.image.name, rgb, shape, stored_of(hints, result.mask), "started")
    if chosen.resume_session is not None and chosen.save_session is None and len(job.hints) > 1:
        kept = f"{chosen.resume_session} was not changed; pass --save-session to keep what was added"
        notes = (*notes, kept)
    for note in notes:
        print_error(f"cutmatch segment: {job.image}: {note}")
    report = report_of(
        {"image": str(job.image)},
        shape,
        result.seconds,
        files,
        object_pixels=int(result.mask.sum()),
        open_pixels=int((marks == OPEN).sum()),
        **rounds_of(result),
        device=result.device,
        method=result.method,
        warnings=list(notes),
    )
    if truth is not None:
        scores = score(result.mask, truth, marks)
        clock.charge("scores")
        report["truth"] = {
            "error_percent": round(scores.error, 4),
            "iou_percent": round(scores.iou, 4),
            "boundary_f_percent": round(scores.boundary_f, 4),
        }
    return report


class _Reading:
    """Threads that read the image of a job and its strokes."""

    def __init__(self, job: Job):
        pool = ThreadPoolExecutor(2, "cutmatch-read")
        self.photograph = pool.submit(read_photograph, job.image, keep_bytes=True)
        file = job.hints.get("strokes")
        self.strokes = pool.submit(lambda: file and codes_and_colours(file, "--strokes"))
        pool.shutdown(wait=False)


def contents(files: dict[str, Path], image: Path, rgb, metadata, marks, found) -> dict[str, bytes]:
    """Contents of an image's files by kind, compressed in parallel; `found` is the object as an Annotation."""
    from apps.common.annotations import encoded_annotations
    from apps.common.figures import overlay, strokes_figure
    from apps.common.row_blocks import in_parallel
    from apps.segmentation.matte import cut_out

    mask, encoders = found.mask, []
    for kind, path in files.items():
        if kind in ANNOTATIONS:
            encoders.append(partial(encoded_annotations, kind, path, image, mask.shape, [found]))
        elif kind == "mask":
            encoders.append(partial(encoded_image, mask.astype("uint8") * 255, ".png", metadata.without_profile()))
        else:
            if kind == "overlay":
                figure = overlay(rgb, mask)
            else:
                figure = cut_out(rgb, mask) if kind == "cutout" else strokes_figure(rgb, marks)
            encoders.append(partial(encoded_image, figure, ".png", metadata))
    return dict(zip(files, in_parallel(encoders), strict=True))


def line(report) -> str:
    """Summary line of a report."""
    if "depth" in report:
        return volume_line(report)
    share = 100.0 * report["object_pixels"] / (report["width"] * report["height"])
    text = (
        f"{report['image']}: {report['width']}x{report['height']}, object {share:.1f} %, "
        f"{rounds_text(report)}, energy {report['energies'][-1]:.0f}, "
        f"{shown_seconds(report['seconds'])} -> {next(iter(report['files'].values()))}"
    )
    if "truth" in report:
        text += f"; IoU {report['truth']['iou_percent']:.1f} %, error {report['truth']['error_percent']:.2f} %"
    return text
