"""Painted stroke files at random, as programs write them, and a judge of how they are read.

A case of a family is drawn by a seed: geometry, palette, ground, and what happened to the file (JPEG, a quantiser,
resampling, opacity, a changed photograph).  The truth is the label of every pixel that is at least half painted.
"""

import io
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from apps.common.images import InputError
from apps.segmentation.strokes import check_marks, read_labels, read_strokes

SIZE = 144, 112  # pixels, width and height
RED_BLUE = (  # of paint programs, phones and drawing libraries
    ((255, 0, 0), (0, 0, 255)),  # pure
    ((237, 28, 36), (63, 72, 204)),  # Paint, indigo
    ((237, 28, 36), (0, 162, 232)),  # Paint, turquoise
    ((255, 59, 48), (0, 122, 255)),  # macOS and iOS
    ((255, 38, 0), (4, 51, 255)),  # Preview
    ((234, 67, 53), (66, 133, 244)),  # Google
    ((244, 67, 54), (33, 150, 243)),  # Android
    ((214, 39, 40), (31, 119, 180)),  # matplotlib
    ((237, 28, 36), (46, 49, 146)),  # CMYK, Photoshop
    ((128, 0, 0), (0, 0, 128)),  # dark
    ((200, 30, 60), (20, 60, 160)),  # crayons
    ((220, 38, 38), (37, 99, 235)),  # Tailwind
    ((255, 0, 64), (0, 128, 255)),  # bright
    ((204, 0, 0), (52, 101, 164)),  # GIMP, Tango
)
OTHERS = ((0, 170, 0), (255, 128, 0), (140, 0, 255), (255, 255, 0), (255, 0, 255), (0, 255, 255), (128, 128, 128))
LABELS = ((255, 0, 0), (0, 0, 255), (0, 160, 0), (255, 220, 0), (255, 0, 255), (0, 255, 255))
FAMILIES = (
    "photograph, png",
    "photograph, jpeg",
    "plain, png",
    "plain, jpeg",
    "transparent",
    "palette",
    "few colours",
    "resampled",
    "translucent",
    "changed photograph",
    "other colours",
    "labels",
    "filled",
    "touching",
    "one kind",
    "no stroke",
    "no photograph",
)
USUAL = FAMILIES[:6]  # opaque strokes as programs save them
PLAIN = {"white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128), "paper": (250, 247, 238)}


class Case(NamedTuple):
    """A file, the photograph for the reader, the truth (0 open), and what was drawn, for messages."""

    content: bytes
    photo: np.ndarray | None
    truth: np.ndarray
    visible: np.ndarray  # what differs from the ground
    is_labels: bool
    text: str


@cache
def photographs():
    from skimage import data

    found = []
    for name, box in (
        ("astronaut", (60, 0, 460, 311)),
        ("chelsea", (20, 0, 405, 300)),
        ("coffee", (100, 30, 500, 341)),
        ("camera", (100, 60, 420, 309)),
        ("rocket", (200, 60, 520, 309)),
    ):
        picture = Image.fromarray(getattr(data, name)()).convert("RGB").crop(box)
        found.append(np.asarray(picture.resize(SIZE, Image.Resampling.LANCZOS)))
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    texture = 110 + 50 * np.sin(x / 5) * np.cos(y / 7) + np.random.default_rng(0).normal(0, 8, x.shape)
    scene = np.clip(np.stack([texture, 0.8 * texture, 0.6 * texture], axis=2), 0, 255).astype(np.uint8)
    scene[5:35, 90:125] = 190, 35, 40
    scene[70:95, 10:40] = 40, 60, 170
    found.append(np.asarray(Image.fromarray(scene).filter(ImageFilter.GaussianBlur(0.8))))
    return found


def make(family: str, seed: int) -> Case:
    """The case of a family and a seed."""
    rng = np.random.default_rng([FAMILIES.index(family), seed])
    photo = photographs()[rng.integers(len(photographs()))]
    said = [family, str(seed)]

    def pick(name, *values):
        value = values[rng.integers(len(values))]
        said.append(f"{name} {value}")
        return value

    is_labels = family == "labels" or (family == "other colours" and pick("labels", False, True))
    colours = list(RED_BLUE[(FAMILIES.index(family) + seed) % len(RED_BLUE)])  # ten seeds of all families: each one
    if family == "other colours":
        colours[rng.integers(2)] = OTHERS[rng.integers(len(OTHERS))]
        if pick("third", False, True):
            colours.append(OTHERS[rng.integers(len(OTHERS))])
    if is_labels and family == "labels":
        colours = [LABELS[k] for k in rng.permutation(len(LABELS))[: rng.integers(2, 6)]]
    if family == "one kind":
        colours[rng.integers(2)] = None
    said.append(str(colours))
    ground = {
        "photograph, png": "photograph",
        "photograph, jpeg": "photograph",
        "transparent": "transparency",
        "changed photograph": "photograph",
    }.get(family)
    if ground is None and family.startswith("plain"):
        ground = pick("ground", *PLAIN)
    ground = ground or pick("ground", "photograph", "transparency", "white", "white", *PLAIN)
    if family == "no photograph" and ground == "photograph" and pick("grey copy", False, True, True):
        photo = np.repeat(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    width = pick("width", *((2, 3, 4, 5, 7, 9, 12) if family != "few colours" else (3, 5, 7)))
    brush = pick("brush", "hard", "smooth", "smooth", "soft")
    brush = brush if width > 4 or brush != "soft" else "smooth"
    opacity = pick("opacity", 0.2, 0.35, 0.5, 0.65, 0.8) if family == "translucent" else 1.0
    scale = pick("scale", 0.5, 0.75, 1.5, 2, 3) if family == "resampled" else 1
    size = tuple(round(scale * s) for s in SIZE)
    covers = _covers(rng, len(colours), size, max(1.0, width * scale), brush, family)
    if family == "no stroke":
        covers = [0 * cover for cover in covers]
    covers = [
        cover if colour is not None else 0 * cover for cover, colour in zip(covers, colours, strict=True)
    ]  # of one kind
    base = photo if ground == "photograph" else np.full_like(photo, PLAIN.get(ground, 255))
    if family == "changed photograph":
        base = _changed(base, pick, rng)
    drawn, alpha = base.astype(float), np.zeros(base.shape[:2])
    if scale != 1:
        drawn = np.asarray(Image.fromarray(base).resize(size, Image.Resampling.BICUBIC)).astype(float)
        alpha = np.zeros(drawn.shape[:2])
    layer = np.zeros(drawn.shape)
    for cover, colour in zip(covers, colours, strict=True):
        part = opacity * cover[..., None]
        drawn = (1 - part) * drawn + part * np.array(colour or (0, 0, 0))
        over = part + alpha[..., None] * (1 - part)
        layer = np.where(over > 0, (part * np.array(colour or (0, 0, 0)) + (1 - part) * alpha[..., None] * layer), 0)
        layer = layer / np.maximum(over, 1e-9)
        alpha = over[..., 0]
    image = Image.fromarray(np.rint(drawn).astype(np.uint8))
    if ground == "transparency":
        image = Image.fromarray(np.rint(np.dstack([layer, 255 * alpha])).astype(np.uint8), "RGBA")
    if scale != 1:
        resample = pick("filter", *Image.Resampling.__members__)
        image = image.resize(SIZE, Image.Resampling[resample])
        covers = [cv2.resize(cover, SIZE, interpolation=cv2.INTER_AREA) for cover in covers]
    truth = np.zeros(SIZE[::-1], np.uint8)
    for number, cover in enumerate(covers, 1):
        truth[cover >= 0.5] = number
    file_format, content = _encoded(image, family, pick)
    said.append(file_format)
    against = base if ground != "transparency" else None
    visible = np.ones(truth.shape, bool)
    if against is not None:
        full = np.zeros((len(colours) + 1, 3))
        full[1:] = [colour or (0, 0, 0) for colour in colours]
        visible = np.abs(full[truth] - against).max(axis=2) > 70
    for number, cover in enumerate(covers, 1):  # nor what a later stroke has mixed its colour into
        visible &= (truth == number) | (cover < 0.1)
    given = photo
    if family == "no photograph":
        given = None
    wanted = truth
    if not is_labels:
        table = np.array([0, 1, 2, 3], np.uint8)
        wanted = table[truth]
    else:
        table = np.zeros(len(colours) + 1, np.uint8)
        table[1:] = [LABELS.index(c) + 1 if c in LABELS else 100 + k for k, c in enumerate(colours)]
        if family == "other colours":
            names = {(0, 170, 0): 3, (255, 255, 0): 4, (255, 0, 255): 5, (0, 255, 255): 6}
            table[1:] = [names.get(c, 100 if c in OTHERS else k + 1) for k, c in enumerate(colours)]
        wanted = table[truth]
    if family == "other colours" and not is_labels:
        table = [0] + [100 if c in OTHERS else k for k, c in enumerate(colours, 1)]
        wanted = np.array(table, np.uint8)[truth]
    return Case(content, given, wanted, visible, is_labels, ", ".join(said))


def _covers(rng, count, size, width, brush, family):
    """How much of each pixel each colour covers, float (H, W) from 0 to 1."""
    w, h = size
    covers = []
    for number in range(count):
        lines = []
        for _ in range(rng.integers(1, 3)):
            if family == "touching":
                x = rng.uniform(0.1, 0.9, (4, 1)) * w
                y = rng.uniform(0.1, 0.9, (4, 1)) * h
            else:  # each colour in its own band of columns
                x = (number + rng.uniform(0.15, 0.85, (4, 1))) / count * w
                y = rng.uniform(0.08, 0.92, (4, 1)) * h
            lines.append([(float(a), float(b)) for a, b in np.hstack([x, y])])
        over = 1 if brush == "hard" else 4
        mask = Image.new("L", (over * w, over * h))
        pen = ImageDraw.Draw(mask)
        for line in lines:
            pen.line([(over * a, over * b) for a, b in line], 255, max(1, round(over * width)), "curve")
        if family == "filled" and number == count - 1:
            left = rng.uniform(0.3, 0.7) * w
            pen.rectangle([over * left, 0, over * w, over * h], 255)
        cover = np.asarray(mask.resize(size, Image.Resampling.BOX), float) / 255
        if brush == "soft":
            cover = np.asarray(
                Image.fromarray(np.rint(255 * cover).astype(np.uint8)).filter(ImageFilter.GaussianBlur(width / 5)),
                float,
            )
            cover = cover / 255
        covers.append(cover)
    return covers


def _changed(photo, pick, rng):
    how = pick("change", "brighter", "contrast", "gamma", "shifted", "flipped", "sharpened", "blurred", "grey", "other")
    if how == "brighter":
        return np.clip(photo.astype(int) + pick("by", 8, 20, 35, 60), 0, 255).astype(np.uint8)
    if how == "contrast":
        return np.clip((photo - 128.0) * pick("by", 0.7, 0.85, 1.2, 1.5) + 128, 0, 255).astype(np.uint8)
    if how == "gamma":
        return np.rint(255 * (photo / 255) ** pick("by", 0.6, 0.8, 1.25)).astype(np.uint8)
    if how == "shifted":
        return np.roll(photo, pick("by", 1, 2, 5), axis=(0, 1))
    if how == "flipped":
        return np.ascontiguousarray(photo[:, ::-1])
    if how == "grey":
        return np.repeat(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    if how == "other":
        return photographs()[rng.integers(len(photographs()))]
    kernel = (
        ImageFilter.UnsharpMask(2, 150) if how == "sharpened" else ImageFilter.GaussianBlur(pick("by", 0.7, 1.5, 3))
    )
    return np.asarray(Image.fromarray(photo).filter(kernel))


def _encoded(image, family, pick):
    """What the file holds: its format in words, and its content."""
    stream = io.BytesIO()
    kind = "png"
    if family in ("photograph, jpeg", "plain, jpeg"):
        kind = "jpeg"
    elif family in ("palette", "few colours"):
        kind = "palette"
    elif family in ("resampled", "translucent", "changed photograph", "labels", "filled", "touching", "no stroke"):
        kind = pick("file", "png", "png", "jpeg", "palette")
    elif family in ("other colours", "one kind", "no photograph"):
        kind = pick("file", "png", "jpeg", "palette")
    if kind == "jpeg" and image.mode == "RGBA":
        kind = "png"
    if kind == "jpeg":
        quality, subsampling = pick("quality", 50, 65, 75, 80, 85, 90, 95), pick("subsampling", 0, 2)
        image.save(stream, "jpeg", quality=quality, subsampling=subsampling)
    else:
        if kind == "palette":
            colours = pick("colours", *((2, 3, 4, 5, 6) if family == "few colours" else (8, 16, 32, 64, 128, 256, 256)))
            methods = ("MEDIANCUT", "MAXCOVERAGE", "FASTOCTREE", "WEB")
            method = "FASTOCTREE" if image.mode == "RGBA" else pick("method", *methods)
            dither = pick("dither", "NONE", "FLOYDSTEINBERG")
            if method == "WEB":  # 216 fixed colours
                image = image.convert("P", palette=Image.Palette.WEB, dither=Image.Dither[dither])
            else:
                exact = image.quantize(colours, Image.Quantize[method])
                image = image.quantize(palette=exact) if dither != "NONE" and image.mode == "RGB" else exact
        image.save(stream, "png")
    return kind, stream.getvalue()


def judge(case: Case, path) -> tuple[str, str]:
    """Write a case to a folder, read it, and say "right", "refused" or "wrong", and why."""
    path = path / "strokes.png"
    path.write_bytes(case.content)
    try:
        if case.is_labels:
            found = read_labels(path, case.photo).astype(int)
        else:
            marks = read_strokes(path, image=case.photo)
            if case.truth.any() and not case.text.startswith("one kind"):
                check_marks(marks, case.truth.shape, "--strokes")
            found = np.array([0, 2, 1])[marks + 1]
    except InputError as error:
        return "refused", str(error)
    if found.shape != case.truth.shape:
        return "wrong", f"shape {found.shape}"
    fault = disagreement(found, case.truth, case.visible)
    return ("wrong", fault) if fault else ("right", "")


RIM = 2  # pixels beside a stroke of the truth that may have its label
SPECKS = 4  # pixels that may have a wrong label
MIN_FOUND = 0.33  # of a stroke's inner pixels: fewer are a stroke lost


MIN_PART = 50  # pixels of a stroke that must be found; another may have left less of it


def disagreement(found, truth, visible) -> str:
    """In words how labels differ from the truth; empty if they agree.

    A pixel is wrong if no stroke of its label is within RIM pixels, and at most SPECKS may be.  Of every connected
    stroke that differs from the ground, MIN_FOUND of its pixels without a rim must be found.
    """
    for value in np.unique(found[found > 0]):
        near = cv2.dilate((truth == value).astype(np.uint8), np.ones((2 * RIM + 1, 2 * RIM + 1), np.uint8)) > 0
        wrong = (found == value) & ~near
        if np.count_nonzero(wrong) > SPECKS:
            return f"{np.count_nonzero(wrong)} pixels have the label {value} and no stroke"
    for value in np.unique(truth[truth > 0]):
        of_value = (truth == value) & visible
        count, parts = cv2.connectedComponents(of_value.astype(np.uint8), connectivity=8)
        for part in range(1, count):
            stroke = parts == part
            inner = cv2.erode(stroke.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
            inner = inner if np.count_nonzero(inner) >= MIN_PART else stroke
            share = np.mean(found[inner] == value)
            if np.count_nonzero(inner) >= MIN_PART and share < MIN_FOUND:
                return f"{share:.0%} of {np.count_nonzero(inner)} pixels of a stroke of {value} are found"
    return ""
