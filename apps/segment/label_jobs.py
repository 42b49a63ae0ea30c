"""Process one input of `cutmatch segment --labels`: an image or volume of several objects, from files to files."""

from dataclasses import dataclass
from pathlib import Path

from apps.common.images import read_codes, read_image, to_bytes, write_image
from apps.common.outputs import claim
from apps.many.program import mean_scores
from apps.segment.volumes import TIFF


@dataclass(frozen=True, slots=True)
class Job:
    """Paths of an image or volume, its strokes or seeds, and its ground truth if known."""

    image: Path
    seeds: Path
    truth: Path | None
    volume: bool


def results_of(image: Path, chosen) -> tuple[Path, ...]:
    """Output files of an input, except the cut-outs; for a TIFF, whose pages are not read yet, of both kinds."""
    folder, suffix = Path(chosen.out), image.suffix.lower()
    image_files = [folder / f"{image.stem}-{kind}.png" for kind in ("labels", "overlay", "strokes")]
    kinds = ("labels.npy" if suffix == ".npy" else "labels.tif", "slices.png")
    volume = [folder / f"{image.stem}-{kind}" for kind in kinds]
    if chosen.volume or suffix == ".npy":
        return tuple(volume)
    return tuple(image_files + volume) if suffix in TIFF else tuple(image_files)


def family_of(image: Path) -> str:
    """Prefix of the names of the cut-outs; the object's value follows."""
    return f"{image.stem}-object"


def label(job: Job, chosen) -> dict:
    """Segment several objects in an image or volume and write the results; return the report."""
    return (label_volume if job.volume else label_image)(job.image, job.seeds, job.truth, chosen)


def label_image(image: Path, seeds_file: Path, truth_file: Path | None, chosen) -> dict:
    """Segment an image; write the label map, the overlay, the strokes and a cut-out per object; return the report."""
    from apps.segment.label_figures import label_strokes_figure, labels_overlay, write_label_image
    from apps.segment.label_values import label_values
    from apps.segment.mask_scores import check_label_truth, label_score
    from apps.segment.matte import cut_out
    from apps.segment.multilabel import segment_labels
    from apps.segment.strokes import read_labels

    rgb = read_image(image)
    seeds = read_labels(seeds_file, to_bytes(rgb))
    truth = None
    if truth_file is not None:
        truth = read_codes(truth_file, "--truth")
        truth = label_values(truth[..., 0] if truth.ndim == 3 else truth, f"--truth: {str(truth_file)!r}")
        check_label_truth(truth, rgb.shape[:2])
    result = segment_labels(rgb, seeds, keep=chosen.keep or "touching", device=chosen.device)
    folder = Path(chosen.out)
    figures = {"overlay": labels_overlay(rgb, result.labels), "strokes": label_strokes_figure(rgb, seeds)}
    for value in result.values:
        figures[f"object{value}"] = cut_out(rgb, result.labels == value)
    files = {kind: folder / f"{image.stem}-{kind}.png" for kind in ("labels", *figures)}
    claim(chosen, "segment", image.stem, image, files.values())
    write_label_image(files["labels"], result.labels)
    for kind, pixels in figures.items():
        write_image(files[kind], pixels)
    report = _report(image, result, files)
    if truth is not None:
        report["truth"] = label_score(result.labels, truth, seeds)
    return report


def label_volume(image: Path, seeds_file: Path, truth_file: Path | None, chosen) -> dict:
    """Segment a volume; write the label volume and a figure of its middle slices; return the report."""
    from apps.segment.label_figures import middle_slices
    from apps.segment.mask_scores import check_label_truth, label_score
    from apps.segment.multilabel import segment_volume
    from apps.segment.volumes import read_seeds, read_volume, write_volume

    volume, seeds = read_volume(image), read_seeds(seeds_file)
    truth = None
    if truth_file is not None:
        truth = read_seeds(truth_file, "--truth")
        check_label_truth(truth, volume.shape)
    result = segment_volume(
        volume,
        seeds,
        connectivity=chosen.connectivity,
        spacing=chosen.spacing,
        keep=chosen.keep or "touching",
        device=chosen.device,
    )
    folder = Path(chosen.out)
    sheet = middle_slices(volume, result.labels, chosen.spacing)
    suffix = ".npy" if image.suffix.lower() == ".npy" else ".tif"
    files = {"labels": folder / f"{image.stem}-labels{suffix}", "slices": folder / f"{image.stem}-slices.png"}
    claim(chosen, "segment", image.stem, image, files.values())
    write_volume(files["labels"], result.labels)
    write_image(files["slices"], sheet)
    report = _report(image, result, files)
    if truth is not None:
        report["truth"] = label_score(result.labels, truth, seeds)
    return report


def line(report) -> str:
    """Summary line of a report."""
    size = "x".join(str(report[side]) for side in ("width", "height", "depth") if side in report)
    text = (
        f"{report['image']}: {size}, {len(report['pixels'])} labels, {report['rounds']} rounds, energy "
        f"{report['energies'][-1]:.0f}, {report['seconds']['total']:.2f} s -> {report['files']['labels']}"
    )
    return text + summary([report])


def summary(reports) -> str:
    """Mean scores of the reports with a ground truth."""
    means = mean_scores(reports, "iou_percent", "error_percent")
    return "; mean IoU {:.2f} %, mean error {:.2f} %".format(*means) if means else ""


def _report(image, result, files) -> dict:
    shape = result.labels.shape
    return {
        "image": str(image),
        **dict(zip(("width", "height", "depth"), shape[::-1], strict=False)),
        "pixels": {value: int((result.labels == value).sum()) for value in result.values},
        "energies": [round(energy, 3) for energy in result.energies],
        "rounds": len(result.energies),
        "seconds": {stage: round(seconds, 4) for stage, seconds in result.seconds.items()},
        "device": result.solved.device,
        "files": {kind: str(path) for kind, path in files.items()},
    }
