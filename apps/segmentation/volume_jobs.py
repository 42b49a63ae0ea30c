"""Process one volume of `cutmatch segment`: from files to files, in the volume's own format and geometry."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.common.clock import Clock, shown_seconds
from apps.common.command import passed, spelled
from apps.common.errors import InputError, print_error
from apps.common.images import READABLE, write_bytes, write_image
from apps.common.stems import stem_of, suffix_of
from apps.run.inputs import check_out_is_not_input, check_unique_names, companion_of, images_in
from apps.run.program import report_of
from apps.segmentation import BAND, CONNECTIVITIES, SPACING
from apps.segmentation.location import OF_VOLUMES, OPTIONS, either
from apps.segmentation.result_files import rounds_of, rounds_text
from apps.volumes.volume_files import (
    MEDICAL_SUFFIXES,
    further_files,
    is_volume,
    kind_of,
    read_volume,
    result_suffix,
    slice_files,
    write_labels,
)
from apps.volumes.voxel_geometry import Geometry

FOR_VOLUMES = ("spacing", "band", "connectivity")  # options without images
FOR_IMAGES = ("box", "boxes", "trimap", "resume_session", "save_session", "write", "soft_strokes")
MAX_LISTED = 6  # labels whose volumes are printed


@dataclass(frozen=True, slots=True)
class VolumeJob:
    """Paths of a volume, of other files that belong to it, of its hints by option, and of its ground truth."""

    image: Path
    further: tuple[Path, ...]
    hints: dict[str, Path]
    truth: Path | None


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
            if not any(map(_is_input_of_folder, path.iterdir())) and slice_files(path):
                raise InputError(
                    f"image: folder {name!r} holds .npy files; pass --volume if they are slices of one volume, or name "
                    "the volumes"
                )
            paths += images_in(path, accepts=_is_input_of_folder)
            many = True
    check_unique_names(paths, "image")
    return paths, many or len(paths) > 1


def check_volume_options(images: list[Path], chosen) -> None:
    """Raise InputError for options of volumes if no input is a volume."""
    given = passed(chosen, *FOR_VOLUMES)
    if given and not any(is_volume(path, chosen.volume) for path in images):
        raise InputError(f"{given[0]} applies to volumes, but no input is a volume; omit it")


def volume_job(path: Path, chosen, many: bool) -> VolumeJob | None:
    """The job of a volume; None for an image.

    Raises InputError for --volume with an image, and for options that do not apply to volumes.
    """
    if not is_volume(path, chosen.volume):
        if chosen.volume:
            raise InputError(
                f"image: {str(path)!r} is not a volume; pass a NIfTI, NRRD, MetaImage or .npy volume, a TIFF "
                "with many pages, a DICOM series or a folder of slices"
            )
        return None
    if not passed(chosen, *OF_VOLUMES):
        raise InputError(
            f"image: {str(path)!r} is a volume, which requires {either(OF_VOLUMES)} of its size, got "
            + passed(chosen, *OPTIONS)[0]
        )
    if others := passed(chosen, *FOR_IMAGES):
        raise InputError(f"{others[0]} applies to images, but {str(path)!r} is a volume; omit it")
    if chosen.start is not None and (chosen.fill_holes or chosen.min_area):
        raise InputError("--fill-holes and --min-area apply to strokes alone; omit them with --start and a volume")
    files = {option: _companion(path, getattr(chosen, option), spelled(option), many) for option in OF_VOLUMES}
    hints = {option: file for option, file in files.items() if file is not None}
    return VolumeJob(path, further_files(path), hints, _companion(path, chosen.truth, "--truth", many))


def volume_results(path: Path, chosen) -> tuple[Path, ...]:
    """Output files of a volume; none for an image."""
    return tuple(_files(path, chosen).values()) if chosen.volume or is_volume(path) else ()


def segment_volume_files(job: VolumeJob, chosen) -> dict:
    """Segment a volume; write labels or mask and a figure of slices; return the report."""
    from apps.common.figures import sections
    from apps.segmentation.hints import remarks_on
    from apps.segmentation.label_figures import annotations_of, encoded_legend
    from apps.segmentation.mask_scores import check_label_truth, label_score
    from apps.segmentation.multilabel import segment_volume
    from apps.segmentation.volumes import read_label_volume, read_object_truth

    clock = Clock()
    volume = read_volume(job.image, folder=chosen.volume)
    values = volume.values
    if values.min() == values.max():
        raise InputError(
            f"image: {str(job.image)!r} is constant: every voxel is {values.flat[0]}; pass a volume with contrast"
        )
    spacing = _spacing(chosen, volume.geometry)
    options = {"connectivity": chosen.connectivity or CONNECTIVITIES[0], "spacing": spacing, "device": chosen.device}
    truth = None
    if job.truth is not None:
        if "label_strokes" in job.hints:
            truth = read_label_volume(job.truth, "--truth", volume, job.image)
        else:
            truth = read_object_truth(job.truth, volume, job.image)
        check_label_truth(truth, values.shape)
    clock.charge("read")
    if "label_strokes" in job.hints:
        strokes = read_label_volume(job.hints["label_strokes"], "--label-strokes", volume, job.image)
        clock.charge("strokes")
        result = segment_volume(values, strokes, keep=chosen.keep or "touching", **options)
        written = shown = result.labels
        counted = {value: int((written == value).sum()) for value in result.values}
    else:
        result = _object(job, volume, chosen, options)
        strokes, written = result.fixed + 1, result.mask.astype(np.uint8)
        shown = np.where(result.mask, np.uint8(1), np.uint8(2))
        counted = {1: int(written.sum())}
    notes = remarks_on(result.mask, result.fixed) if "strokes" in job.hints else ()
    for note in notes:
        print_error(f"cutmatch segment: {job.image}: {note}")
    sheet = sections(values, written, list(counted), spacing)
    clock.charge("figures")
    files = _files(job.image, chosen)
    write_labels(next(iter(files.values())), written, volume)
    write_image(files["slices"], sheet)
    if "legend" in files:
        write_bytes(files["legend"], encoded_legend(job.image, written, annotations_of(written, counted)))
    clock.charge("write")
    report = report_of(
        {"image": str(job.image)},
        values.shape,
        result.seconds,
        files,
        **_sizes(chosen, volume.geometry, spacing, counted),
        **rounds_of(result),
        device=result.solved.device,
        warnings=list(notes),
    )
    if truth is not None:
        report["truth"] = label_score(shown, truth, strokes)
    return report


def volume_line(report) -> str:
    """Summary line of a report."""
    size = "x".join(str(report[side]) for side in ("width", "height", "depth"))
    unit = report["volume_unit"]
    listed = [f"{value}: {volume:.6g} {unit}" for value, volume in list(report["volumes"].items())[:MAX_LISTED]]
    more = ", ..." if len(report["volumes"]) > MAX_LISTED else ""
    if "mask" in report["files"]:
        what, main = f"object {listed[0].partition(': ')[2]}", "mask"
    else:
        what, main = f"{len(report['volumes'])} labels ({', '.join(listed)}{more})", "labels"
    text = (
        f"{report['image']}: {size}, {what}, {rounds_text(report)}, energy {report['energies'][-1]:.0f}, "
        f"{shown_seconds(report['seconds'])} -> {report['files'][main]}"
    )
    if "truth" in report:
        text += f"; mean IoU {report['truth']['iou_percent']:.1f} %"
    return text


def _object(job, volume, chosen, options):
    """One object, from strokes, or from a rough mask that strokes may correct."""
    from apps.segmentation.volume_object import refine_mask, segment_object
    from apps.segmentation.volumes import read_volume_marks, read_volume_mask

    hints = job.hints
    if "start" not in hints:
        marks = read_volume_marks(hints["strokes"], chosen.encoding, volume, job.image)
        return segment_object(
            volume.values,
            marks,
            keep=chosen.keep or "touching",
            fill_holes=chosen.fill_holes,
            min_volume=chosen.min_area,
            **options,
        )
    marks = None
    if "strokes" in hints:
        marks = read_volume_marks(hints["strokes"], chosen.encoding, volume, job.image, both=False)
    start = read_volume_mask(hints["start"], volume)
    return refine_mask(
        volume.values,
        start,
        strokes=marks,
        band=BAND if chosen.band is None else chosen.band,
        keep=chosen.keep or "all",
        **options,
    )


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


def _files(path: Path, chosen) -> dict[str, Path]:
    main = "labels" if chosen.label_strokes is not None else "mask"
    folder, stem = Path(chosen.out), stem_of(path)
    files = {main: folder / f"{stem}-{main}{result_suffix(path, chosen.volume)}"}
    files["slices"] = folder / f"{stem}-slices.png"
    return files if main == "mask" else files | {"legend": folder / f"{stem}-labels.json"}


def _companion(path: Path, given: str | None, option: str, many: bool) -> Path | None:
    """The file or folder given by an option, or the one of the volume's name in the folder given."""
    if given is None:
        return None
    # A folder contains the marked slices of the volume, unless there are several volumes.
    if not many or kind_of(Path(given)) is not None:
        return Path(given)
    return companion_of(given, stem_of(path), option)


def _is_input_of_folder(path: Path) -> bool:
    return suffix_of(path) in (*READABLE, *MEDICAL_SUFFIXES, ".ome.tif", ".ome.tiff")
