"""Cut objects out of pictures.

  cutmatch segment photo.jpg --scribbles strokes.png      strokes: object 1 or red, background 2 or blue
  cutmatch segment photo.jpg --box 40,30,300,280          the object lies inside x0,y0,x1,y1
  cutmatch segment photo.jpg --trimap trimap.png          0 background, 128 unknown, 255 object
  cutmatch segment photos/ --scribbles strokes/           a folder: strokes/NAME.png goes with photos/NAME.jpg

Each picture gives three files in the --out folder: NAME-mask.png (255 on the object), NAME-overlay.png (the
border drawn, the rest dimmed) and NAME-cutout.png (RGBA, soft along the border).  Parts that touch no object
stroke are dropped; --keep all keeps them.  Colour models are fitted to strokes and labelling in turn; every
cut is an exact minimum.  For a folder of pictures --box is a JSON file {"NAME": [x0, y0, x1, y1]} or one box
for all.

Exit status: 0 done, 1 some pictures of a folder failed, 2 the input cannot be used.
"""

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from apps.command import SOME_FAILED, add_shared_options, check_device, check_threads, parser, run, write_json
from apps.images import READABLE, InputError, read_image, write_image
from apps.strokes import ENCODINGS, find_by_stem, parse_box, read_boxes, read_scribbles, read_trimap

KEEP = ("touching", "all", "largest")


@dataclass(frozen=True, slots=True)
class Job:
    """One picture and what was said about it: paths, and the box as four numbers."""

    image: Path
    scribbles: Path | None
    trimap: Path | None
    box: tuple | None
    truth: Path | None


def _options():
    options = parser("segment", __doc__)
    options.add_argument("image", nargs="+", help="pictures, or folders of pictures")
    where = options.add_argument_group("where the object is (exactly one)")
    where.add_argument("--scribbles", metavar="FILE", help="stroke picture, or a folder of them")
    where.add_argument("--box", metavar="X0,Y0,X1,Y1", help="box round the object, half open, or a JSON file of them")
    where.add_argument("--trimap", metavar="FILE", help="trimap, or a folder of them")
    how = options.add_argument_group("how")
    how.add_argument("--encoding", choices=ENCODINGS, default="auto", help="of the strokes (default: by their values)")
    how.add_argument("--keep", choices=KEEP, help="parts to keep (default: touching; all for a box)")
    how.add_argument("--fill-holes", action="store_true", help="holes without a background stroke become object")
    how.add_argument("--least-area", type=int, default=0, metavar="PIXELS", help="drop parts and holes below this")
    how.add_argument("--soft-strokes", action="store_true", help="strokes are strong hints, not orders")
    how.add_argument("--truth", metavar="FILE", help="true mask (0, 128 undecided, 255), or a folder: adds scores")
    add_shared_options(options, "out")
    return options


def _main(argv) -> int:
    options = _options()
    chosen = options.parse_args(argv)
    threads = check_threads(chosen.threads)
    check_device(chosen.device)
    given = [name for name in ("scribbles", "box", "trimap") if getattr(chosen, name) is not None]
    if len(given) != 1:
        said = " and ".join(f"--{name}" for name in given) or "none"
        raise InputError(f"pass exactly one of --scribbles, --box and --trimap, got {said}")
    if chosen.least_area < 0:
        raise InputError(f"--least-area must be 0 or more pixels, got {chosen.least_area}")
    images, many = _images(chosen.image)
    if not many:
        report = _segment_one(_job(images[0], chosen), chosen)
        if not chosen.quiet and chosen.json != "-":
            print(_line(report))
        if chosen.json:
            write_json(chosen.json, report)
        return 0
    return _segment_many(images, chosen, threads)


def _segment_many(images, chosen, threads) -> int:
    """A thread per picture; a failed one is reported and does not stop the others."""
    from tqdm import tqdm

    reports, failures = [], []
    boxes = read_boxes(chosen.box) if chosen.box and Path(chosen.box).suffix == ".json" else None

    def one(path):
        return _segment_one(_job(path, chosen, boxes), chosen)

    with ThreadPoolExecutor(max_workers=threads) as pool:
        waiting = {pool.submit(one, path): path for path in images}
        bar = tqdm(as_completed(waiting), total=len(waiting), unit="image", disable=chosen.quiet, file=sys.stderr)
        for done in bar:
            try:
                reports.append(done.result())
            except (InputError, RuntimeError, MemoryError) as error:
                failures.append({"image": str(waiting[done]), "error": str(error)})
    reports.sort(key=lambda report: report["image"])
    failures.sort(key=lambda failure: failure["image"])
    if not chosen.quiet and chosen.json != "-":
        for report in reports:
            print(_line(report))
        print(_summary(reports, failures))
    for failure in failures:
        print(f"cutmatch segment: {failure['image']}: {failure['error']}", file=sys.stderr)
    if chosen.json:
        write_json(chosen.json, {"images": reports, "failures": failures})
    return SOME_FAILED if failures else 0


def _images(names) -> tuple[list[Path], bool]:
    """The pictures named, folders opened, and whether to treat them as a batch."""
    found = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in READABLE and not p.name.startswith("."))
            if not inside:
                raise InputError(f"image: folder {name!r} holds no picture ({', '.join(READABLE[:5])}, ...)")
            found += inside
        else:
            found.append(path)
    stems = [path.stem for path in found]
    for path in found:
        if stems.count(path.stem) > 1:
            raise InputError(
                f"image: {stems.count(path.stem)} pictures are called {path.stem!r}, and their results would "
                "overwrite each other; rename one or run them apart"
            )
    return found, len(found) > 1 or Path(names[0]).is_dir()


def _job(image: Path, chosen, boxes=None) -> Job:
    """Find what belongs to a picture: the file given, or the one of its name in the folder given."""

    def file_for(name):
        value = getattr(chosen, name)
        if value is None:
            return None
        return find_by_stem(value, image.stem, f"--{name}") if Path(value).is_dir() else Path(value)

    box = None
    if chosen.box is not None:
        if Path(chosen.box).suffix == ".json":
            boxes = read_boxes(chosen.box) if boxes is None else boxes
            if image.stem not in boxes:
                raise InputError(f"--box: {chosen.box!r} has no entry {image.stem!r}; add one")
            box = boxes[image.stem]
        else:
            box = parse_box(chosen.box)
    return Job(image, file_for("scribbles"), file_for("trimap"), box, file_for("truth"))


def _segment_one(job: Job, chosen) -> dict:
    """Read, cut, write the three pictures; what goes into the JSON.  Nothing is written unless all of it can
    be.
    """
    from apps.matte import cut_out
    from apps.pictures import overlay
    from apps.scores import read_truth, score
    from apps.segmentation import segment_marked
    from apps.strokes import check_marks, marks_of_box

    rgb = read_image(job.image)
    shape = rgb.shape[:2]
    if job.scribbles is not None:
        marks = check_marks(read_scribbles(job.scribbles, chosen.encoding), shape, "--scribbles")
    elif job.trimap is not None:
        marks = check_marks(read_trimap(job.trimap), shape, "--trimap")
    else:
        marks = marks_of_box(job.box, shape)
    truth = read_truth(job.truth) if job.truth is not None else None
    if truth is not None and truth.shape != shape:
        raise InputError(
            f"--truth is {truth.shape[1]}x{truth.shape[0]} pixels, but the image is {shape[1]}x{shape[0]}; "
            "make them the same size"
        )
    result = segment_marked(
        rgb,
        marks,
        keep=chosen.keep,
        fill_holes=chosen.fill_holes,
        least_area=chosen.least_area,
        soft_strokes=chosen.soft_strokes,
        device=chosen.device,
    )
    folder = Path(chosen.out)
    pictures = {
        "mask": result.mask.astype("uint8") * 255,
        "overlay": overlay(rgb, result.mask),
        "cutout": cut_out(rgb, result.mask),
    }
    files = {kind: folder / f"{job.image.stem}-{kind}.png" for kind in pictures}
    for kind, pixels in pictures.items():
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


def _summary(reports, failures) -> str:
    text = f"{len(reports)} done, {len(failures)} failed"
    scored = [report["truth"] for report in reports if "truth" in report]
    if scored:
        iou = sum(s["iou_percent"] for s in scored) / len(scored)
        error = sum(s["error_percent"] for s in scored) / len(scored)
        text += f"; mean IoU {iou:.2f} %, mean error {error:.2f} %"
    return text


def main(argv=None) -> int:
    """The command; its exit status."""
    return run(_main, "segment", argv)


if __name__ == "__main__":
    sys.exit(main())
