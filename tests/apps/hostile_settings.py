"""Hostile command lines of one purpose each: a volume with its seeds, a clip with its strokes, a session, a batch.

`setting(command, rng)` chooses one.  Most of its arguments fit together; about one in five does not.
"""

from tests.apps import hostile_scans as scans

OUTPUTS_OF = {  # option: fitting names
    "--json": ("result.json", "-"),
    "--table": ("table.csv", "table.json", "table.npz", "table.npy"),
    "--video": ("film.mp4", "film.avi", "film.gif"),
    "--report": ("page.html", "new/page.html", "out/page.html"),
    "--save-session": ("kept.sqlite", "session.sqlite", "new/kept.sqlite"),
}
KINDS = (
    *("mask", "coco", "coco-rle", "geojson", "labelme", "coco,coco-rle,geojson,labelme", "overlay,cutout,mask"),
    *("strokes", "labels,coco", "labels", "coco, geojson", "coco,coco"),
)
BAD_KINDS = ("", ",", "mask,", "nonsense", "COCO", "mask;coco", "coco\n", "out/mask")
IMAGES = (
    *("photo.png", "cmyk.jpg", "profile.jpg", "grey alpha.png", "one bit.png", "transparent palette.png", "deep.png"),
    *("two.png", "column.png", "float.tif", "float far.tif", "nan.tif", "planar.tif", "signed.tif", "rotated.jpg"),
    *("photo.webp", "photo.pgm", "photo.bmp", "white.tif", "uint32.tif", "page.png", "one.png", "line.png"),
    "single.ome.tif",
)
HINTS = (
    ["--box=3,3,20,20"],
    ["--box=-9,2,21,99"],
    ["--strokes", "strokes.png"],
    ["--strokes", "transparent strokes.png"],
    ["--trimap", "trimap.png"],
    ["--start", "truth.png"],
    ["--start", "truth.png", "--strokes", "strokes.png"],
    ["--box=3,3,20,20", "--strokes", "red only.png"],
    ["--box=3,3,20,20", "--start", "truth.png", "--strokes", "strokes.png"],
    ["--label-strokes", "labels16.png"],
    ["--boxes", "several boxes.json"],
)


def setting(command: str, rng) -> list[str]:
    """The first arguments of a command line; an empty list for commands without settings."""
    choices = {"segment": (_volume, _slices, _clip, _session, _batch, _image)}.get(command)
    if choices:
        return rng.choice(choices)(rng)
    return list(rng.choice(_OTHERS[command])) if command in _OTHERS else []


def _mostly(good, bad, rng) -> str:
    return rng.choice(good if rng.random() < 0.8 else bad)


def _volume(rng) -> list[str]:
    argv = [_mostly(scans.VOLUMES, scans.BAD_VOLUMES, rng)]
    if rng.random() < 0.1:
        argv.append(rng.choice((*scans.VOLUMES, "mixed", "photo.png")))
    mask = _mostly(("start.nii.gz", "start.npy"), ("truth.png", "turned.nii.gz", "head.nii.gz"), rng)
    seeds = _mostly(scans.SEEDS, ("turned.nii.gz", "seeds", "slices.png", *scans.BAD_VOLUMES), rng)
    return argv + rng.choice(
        (
            ["--label-strokes", seeds],
            ["--strokes", seeds],
            ["--start", mask],
            ["--start", mask, "--strokes", seeds],
            ["--label-strokes", seeds, "--truth", seeds],
            ["--strokes", seeds, "--truth", mask],
            ["--box=3,3,20,20"],
        )
    )


def _slices(rng) -> list[str]:
    folder = _mostly(("planes",), ("uneven planes", "none", "photos", "photo.png", "head.nii.gz"), rng)
    return [folder, "--volume", rng.choice(("--label-strokes", "--strokes")), rng.choice(scans.SEEDS)]


def _clip(rng) -> list[str]:
    clip = _mostly(scans.CLIPS, ("clip cut.mp4", "clip cut.avi", "empty.mp4", "text.mp4", "text.avi", "none"), rng)
    small = ("strokes.png", "frame strokes")
    wide = ("0000.png", "clip strokes", "late strokes", "nameless strokes")
    strokes = rng.choice(wide if clip.startswith("clip") else small)
    if rng.random() < 0.2:
        strokes = rng.choice((*wide, *small, "none", "photo.png", "empty strokes.png", "red only.png"))
    argv = [clip, "--strokes", strokes]
    if not clip.startswith("clip") or rng.random() < 0.1:
        argv.append("--clip")
    return argv + ["--write", rng.choice(("mask,cutout", "overlay", "cutout,", "labels"))] * (rng.random() < 0.3)


def _session(rng) -> list[str]:
    argv = [_mostly(("photo.png",), ("other.png", "grey.png", "head.nii.gz", "good", "missing.png"), rng)]
    if rng.random() < 0.7:
        argv += ["--resume-session", _mostly(("session.sqlite",), scans.SESSIONS, rng)]
    if rng.random() < 0.6:
        argv += ["--save-session", rng.choice(OUTPUTS_OF["--save-session"])]
    return argv + rng.choice((*HINTS, [], []))


def _batch(rng) -> list[str]:
    argv = rng.choice((["good"], ["photos"], ["strange"], ["mixed"], ["photo.png", "other.png"], ["good", "strange"]))
    argv = argv + rng.choice(
        (["--box=3,3,20,20"], ["--box", "boxes.json"], ["--start", "truth.png"], ["--strokes", "matching strokes"])
    )
    argv += rng.choice(([], ["--write", _mostly(KINDS, BAD_KINDS, rng)]))
    argv += rng.choice(([], ["--resume"], ["--report", "page.html"], ["--resume", "--report", "page.html"]))
    return argv + ["--json"] * (rng.random() < 0.2)


def _image(rng) -> list[str]:
    argv = [rng.choice((*IMAGES, *scans.STRANGE_NAMES)), *rng.choice(HINTS)]
    return argv + rng.choice(([], ["--write", _mostly(KINDS, BAD_KINDS, rng)], ["--report", "page.html"]))


_OTHERS = {
    "refine": (
        *(["photo.png", mask] for mask in ("truth.png", "labels16.png", "start.npy", "stack nan.npy", "boxes.json")),
        *(["strange", "truth.png"], ["good", "good"], ["mixed", "matching strokes"], ["photo.png", "empty.png"]),
        *([name, name] for name in IMAGES),
    ),
    "denoise": (
        *(["page.png", "--binary"], ["page.png", "--binary", "--truth", "page.png"], ["strange"], ["mixed"]),
        *(["deep.png", "--truth", "deep.png"], ["flat.png", "--truth", "flat.png", "--report", "page.html"]),
        *([name] for name in IMAGES),
        *([name, "--binary"] for name in IMAGES),
    ),
    "superpixels": (["strange", "--report", "page.html"], ["mixed"], *([name, "--regions=9,3"] for name in IMAGES)),
    "stereo": (
        ["scene.png", "scene moved.png"],
        ["scene.png", "scene.png", "--truth", "scene.png"],
        ["strange", "strange"],
        *([name, name] for name in IMAGES),
    ),
    "flow": (
        ["frames", "--video", "film.mp4"],
        ["frames", "--report", "page.html"],
        ["clip.mp4", "--video", "film.gif"],
        ["movie.gif", "--resume"],
        ["scene.png", "scene moved.png", "--video", "film.avi"],
        *([name, name] for name in IMAGES),
    ),
    "match": (
        ["scene.png", "scene moved.png", "--truth", "homography.yaml"],
        ["scene.png", "scene moved.png", "--truth", "homography.xml", "--report", "page.html"],
        ["scene.png", "scene moved.png", "--truth", "words.xml"],
        ["scene.png", "scene moved.png", "--truth", "words.yaml"],
        ["scene.png", "scene.png", "--table", "pairs.json"],
        ["strange", "strange"],
        *([name, name] for name in IMAGES),
    ),
    "track": (
        ["frames", "--video", "film.mp4"],
        ["clip.mp4", "--video", "film.gif", "--report", "page.html"],
        ["clip.mp4", "movie.gif", "stack.npy", "--json"],
        ["detections.csv", "frames", "--resume"],
        ["frames", "--table", "table.npz"],
        ["clip cut.mp4"],
    ),
}
