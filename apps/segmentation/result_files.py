"""The files that `cutmatch segment` writes for an image, chosen by --write."""

from collections.abc import Iterable
from pathlib import Path

from apps.common.annotations import SUFFIXES as ANNOTATIONS
from apps.common.annotations import merged_coco
from apps.common.errors import InputError

FIGURES = ("mask", "labels", "overlay", "cutout", "strokes")
KINDS = (*FIGURES, *ANNOTATIONS)
MERGED = ("coco", "coco-rle")  # annotations that a batch also writes as one file
BOX_KINDS = "labels,overlay,coco"  # the default for boxes; a cut-out of each may be many files


def check_kinds(text: str | None, several: bool, strokes: bool) -> tuple[str, ...]:
    """The kinds of files in `--write`, in the order of KINDS; all figures for None.

    several   whether the strokes mark several objects
    strokes   whether there are strokes or a trimap to show, unlike for a box alone

    Raises InputError for a kind that does not exist, or not for this input.
    """
    missing = ("mask",) if several else ("labels",)
    if text is None:
        return tuple(kind for kind in FIGURES if kind not in missing and (strokes or kind != "strokes"))
    kinds = [part.strip() for part in text.split(",")]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(f"--write: unknown kind {unknown[0]!r}; the kinds are {', '.join(KINDS)}")
    for kind in kinds:
        if kind in missing:
            several_by = "several objects (--label-strokes, --boxes); pass mask"
            reason = "a single object; pass labels" if several else several_by
            raise InputError(f"--write {kind} is the result of {reason} instead")
    if "strokes" in kinds and not strokes:
        raise InputError("--write strokes requires --strokes or --trimap; omit strokes with boxes")
    return tuple(kind for kind in KINDS if kind in kinds)


def files_of(kinds: tuple[str, ...], folder: Path, name: str) -> dict[str, Path]:
    """Files of one image, by kind; a label image has a legend beside it."""
    files = {}
    for kind in kinds:
        files[kind] = folder / f"{name}-{ANNOTATIONS.get(kind, f'{kind}.png')}"
        if kind == "labels":
            files["legend"] = folder / f"{name}-labels.json"
    return files


def label_files_of(kinds: tuple[str, ...], folder: Path, name: str, values: Iterable[int] = ()) -> dict[str, Path]:
    """The same for several objects, with a cut-out for each of these values."""
    files = files_of(tuple(kind for kind in kinds if kind != "cutout"), folder, name)
    if "cutout" in kinds:
        files |= {f"object{value}": folder / f"{name}-object{value}.png" for value in values}
    return files


def merged_files(kinds: tuple[str, ...], folder: Path) -> dict[str, Path]:
    """The annotation files of a whole batch, by the option that requests them."""
    return {f"--write {kind}": folder / ANNOTATIONS[kind] for kind in kinds if kind in MERGED}


def write_merged(kinds: tuple[str, ...], folder: Path, reports: list[dict]) -> dict:
    """Merge the annotations of a batch's images into one file per format; return the files, for the batch's report.

    Raises InputError if an image's file can no longer be read.
    """
    import json

    from apps.common.images import read_bytes
    from apps.common.writing import write_bytes

    files = {}
    for kind in kinds:
        if kind in MERGED:
            documents = (json.loads(read_bytes(report["files"][kind], "--out")) for report in reports)
            content = json.dumps(merged_coco(documents), separators=(",", ":")) + "\n"
            files[kind] = str(write_bytes(folder / ANNOTATIONS[kind], content.encode()))
    return {"files": files} if files else {}


def rounds_of(result) -> dict:
    """Energies and number of the rounds of a result, for its report."""
    return {"energies": [round(energy, 3) for energy in result.energies], "rounds": len(result.energies)}


def rounds_text(report: dict) -> str:
    """The number of rounds in a report, for its line."""
    return f"{report['rounds']} round{'s' * (report['rounds'] != 1)}"
