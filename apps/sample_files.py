"""Small inputs of every command, written to a folder: the files of data/ in the sources.

The photographs come with scikit-image and are free of restrictions (CC0, or public domain).  The other files are
computed from them, or drawn at random with fixed seeds.  data/README.md describes each file.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from apps.common.writing import encoded_image, write_bytes, write_image
from apps.sample_strokes import EXAMPLES, STROKE_WIDTH, strokes_of

RED, BLUE, GREEN, YELLOW = (255, 0, 0), (0, 0, 255), (0, 160, 0), (255, 220, 0)
PHOTOGRAPHS = tuple(example for example in EXAMPLES if example.name in ("astronaut", "chelsea", "coffee"))
OBJECTS = (  # strokes on the astronaut: background, suit, face and hair, flag
    (
        BLUE,
        (
            ((310, 20), (300, 140), (330, 220)),
            ((345, 10), (430, 12), (500, 20), (500, 330)),
            ((425, 60), (440, 250)),
            ((385, 300), (430, 312), (500, 318), (503, 380)),
        ),
    ),
    (
        RED,
        (
            ((215, 270), (300, 330), (420, 390), (470, 490)),
            ((190, 290), (90, 330), (40, 470)),
            ((200, 480), (340, 480)),
            ((372, 352), (410, 352), (455, 380), (484, 425), (494, 450)),
            ((160, 156), (138, 166), (128, 190), (134, 215), (150, 240), (190, 262)),
            ((275, 185), (300, 215), (300, 250)),
            ((180, 215), (215, 232), (262, 215)),
            ((38, 338), (34, 372)),
        ),
    ),
    (GREEN, (((225, 90), (222, 150), (200, 190)), ((180, 60), (225, 25), (275, 70)))),
    (YELLOW, (((12, 200), (20, 20), (110, 15), (110, 130)), ((60, 60), (60, 200)), ((12, 240), (60, 250)))),
)
SOFT_SIZE = 64, 43  # pixels of a mask as a network writes it
BOXES = {  # x, y, width, height of a detector's boxes, its scores and names
    "astronaut.jpg": (((14, 8, 354, 504), 0.98, "person"), ((346, 0, 124, 290), 0.91, "rocket")),
    "coffee.jpg": (((164, 10, 260, 302), 0.97, "cup"), ((312, 56, 118, 276), 0.74, "spoon")),
}
CLIP_FRAMES, CLIP_RATE = 12, 12.0  # frames, and frames per second
PARTICLES, PARTICLE_FRAMES = 40, 12
JPEG_QUALITY = 90


def write_samples(folder: str | Path) -> list[Path]:
    """Write all sample files to a folder and return their paths, in the order of data/README.md.

    Files of the same names are replaced.  The volume is left out without SimpleITK, which reads and writes NIfTI.
    """
    folder = Path(folder)
    masks = _masks()
    parts = (
        _photographs,
        _restoration,
        _frames,
        _clip,
        _volume,
        _stereo_pair,
        _views,
        _particles,
        _interferogram,
        _matrices,
    )
    return [path for part in parts for path in part(folder, masks)]


def _photograph(name: str) -> np.ndarray:
    import skimage.data

    return np.ascontiguousarray(getattr(skimage.data, name)()[..., :3])


def _half(image: np.ndarray) -> np.ndarray:
    import cv2

    return cv2.resize(image, (image.shape[1] // 2, image.shape[0] // 2), interpolation=cv2.INTER_AREA)


def _masks() -> dict[str, np.ndarray]:
    """Masks of the objects, from the strokes and boxes of the demo."""
    from apps.common.images import to_rgb
    from apps.segment import segment_marked
    from apps.segment.hints import ObjectOptions
    from apps.segment.strokes import marks_of_box

    masks = {}
    for example in PHOTOGRAPHS:
        rgb = to_rgb(_photograph(example.name))
        shape = rgb.shape[:2]
        marks = strokes_of(example, shape) if example.box is None else marks_of_box(example.box, shape)
        masks[example.name] = segment_marked(rgb, marks, ObjectOptions(fill_holes=True), device="cpu").mask
    return masks


def _jpeg(path: Path, pixels: np.ndarray) -> Path:
    # With the colours of all pixels: colour models see the blocks of subsampled ones.
    return write_bytes(path, encoded_image(pixels, ".jpg", quality=JPEG_QUALITY, subsampling=0))


def _painted(shape, lines) -> np.ndarray:
    """Strokes (colour, polylines) on white, RGB."""
    import cv2

    image = np.full((*shape, 3), 255, np.uint8)
    for colour, polylines in lines:
        for line in polylines:
            cv2.polylines(image, [np.array(line, np.int32)], False, colour, STROKE_WIDTH)
    return image


def _trimap(mask: np.ndarray, width: int = 6) -> np.ndarray:
    """0 background, 128 within `width` pixels of the outline, 255 object."""
    import cv2

    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * width + 1,) * 2)
    inside, outside = cv2.erode(mask.astype(np.uint8), disc), cv2.dilate(mask.astype(np.uint8), disc)
    return np.where(inside, 255, np.where(outside, 128, 0)).astype(np.uint8)


def _detections() -> str:
    """BOXES as COCO."""
    names = sorted({name for boxes in BOXES.values() for *_, name in boxes})
    annotations = [
        {"image_id": image, "category_id": names.index(name) + 1, "bbox": bbox, "score": score}
        for image, boxes in enumerate(BOXES.values(), 1)
        for bbox, score, name in boxes
    ]
    content = {
        "images": [{"id": image, "file_name": file} for image, file in enumerate(BOXES, 1)],
        "annotations": [{"id": number} | one for number, one in enumerate(annotations, 1)],
        "categories": [{"id": number, "name": name} for number, name in enumerate(names, 1)],
    }
    return json.dumps(content) + "\n"


def _photographs(folder: Path, masks: dict) -> Iterator[Path]:
    """Photographs, with strokes, a trimap and a rough mask; and a folder of them at half size."""
    import cv2

    for example in PHOTOGRAPHS:
        name, rgb, mask = example.name, _photograph(example.name), masks[example.name]
        yield _jpeg(folder / f"{name}.jpg", rgb)
        if example.box is None:
            lines = ((BLUE, example.on_background), (RED, example.on_object))
            yield write_image(folder / f"{name}-strokes.png", _painted(mask.shape, lines))
        yield _jpeg(folder / "photos" / f"{name}.jpg", _half(rgb))
        yield write_image(folder / "trimaps" / f"{name}.png", _trimap(_half(mask.astype(np.uint8) * 255) >= 128))
    low = cv2.resize(masks["chelsea"].astype(np.float32), SOFT_SIZE, interpolation=cv2.INTER_AREA)
    yield write_image(folder / "chelsea-soft.png", np.uint8(255 * cv2.GaussianBlur(low, (0, 0), 0.7)))
    yield write_bytes(folder / "boxes.json", _detections().encode())
    mask = masks["astronaut"]
    yield write_image(folder / "astronaut-objects.png", _painted(mask.shape, OBJECTS))
    yield write_image(folder / "astronaut-trimap.png", _trimap(mask, 10))
    blocks = mask.reshape(16, 32, 16, 32).mean(axis=(1, 3)) > 0.5  # as a coarse network finds it
    yield write_image(folder / "astronaut-rough.png", np.kron(blocks, np.ones((32, 32))).astype(np.uint8) * 255)


def _restoration(folder: Path, masks: dict) -> Iterator[Path]:
    """A noisy photograph, one with scratches and the mask of these, and a silhouette with wrong pixels."""
    import cv2

    rng = np.random.default_rng(0)
    clean = _half(_photograph("coffee"))
    yield write_image(folder / "coffee-clean.png", clean)
    noisy = clean + rng.normal(0, 20, clean.shape)
    yield write_image(folder / "coffee-noisy.png", np.clip(np.rint(noisy), 0, 255).astype(np.uint8))
    scratched = _half(_photograph("chelsea"))
    height, width = scratched.shape[:2]
    holes = np.zeros((height, width), np.uint8)
    for _ in range(12):
        ends = rng.integers(0, (width, height), (2, 2))
        cv2.line(holes, ends[0].tolist(), ends[1].tolist(), 255, 2)
    scratched[holes > 0] = 255
    yield write_image(folder / "chelsea-scratched.png", scratched)
    yield write_image(folder / "chelsea-scratches.png", holes)
    flipped = _half(masks["astronaut"].astype(np.uint8) * 255) >= 128
    flipped ^= rng.random(flipped.shape) < 0.1
    yield write_image(folder / "silhouette.png", np.uint8(flipped) * 255)


def _frames(folder: Path, masks: dict) -> Iterator[Path]:
    """Two frames and the true flow, as KITTI stores it."""
    from apps.flow.flow_files import encoded_flow
    from apps.motion.samples import warped_pair

    sample = warped_pair("astronaut")
    crop = np.s_[:320, 60:460]
    yield write_image(folder / "frame1.png", np.ascontiguousarray(sample.first[crop]))
    yield write_image(folder / "frame2.png", np.ascontiguousarray(sample.second[crop]))
    y, x = np.mgrid[crop]
    ends = np.dstack([x, y]) + sample.flow[crop]
    known = sample.known[crop] & (ends[..., 0] >= 60) & (ends[..., 0] <= 459) & (ends[..., 1] <= 319)
    path = folder / "frame1-flow.png"
    yield write_bytes(path, encoded_flow(path, np.ascontiguousarray(sample.flow[crop]), known))


def _clip(folder: Path, masks: dict) -> Iterator[Path]:
    """The astronaut moved before a moving background, with strokes on the first frame."""
    import cv2

    from apps.common.video_files import write_video

    rgb, mask = _half(_photograph("astronaut")), _half(masks["astronaut"].astype(np.uint8) * 255)
    grown = cv2.dilate((mask > 0).astype(np.uint8), np.ones((3, 3), np.uint8), iterations=3)
    behind = cv2.inpaint(rgb, grown, 5, cv2.INPAINT_TELEA)

    def frame(number: int) -> np.ndarray:
        def moved(image, dx, dy):
            return cv2.warpAffine(
                image, np.array([[1, 0, dx], [0, 1, dy]], np.float32), (256, 256), borderMode=cv2.BORDER_REFLECT
            )

        alpha = moved(mask, 3 * number, 0)[..., None] / 255.0
        mixed = alpha * moved(rgb, 3 * number, 0) + (1 - alpha) * moved(behind, -number, 0)
        return (mixed + 0.5).astype(np.uint8)

    yield write_video(folder / "clip.mp4", (frame(number) for number in range(CLIP_FRAMES)), CLIP_RATE)
    example = PHOTOGRAPHS[0]
    lines = [(BLUE, example.on_background), (RED, example.on_object)]
    strokes = cv2.resize(_painted((512, 512), lines), (256, 256), interpolation=cv2.INTER_NEAREST)
    yield write_image(folder / "clip-strokes.png", strokes)


def _volume(folder: Path, masks: dict) -> Iterator[Path]:
    """A noisy scan of two organs, with voxels of 2 x 1 x 1 mm, and seeds: 1 background, 2 and 3 organs."""
    try:
        import SimpleITK
    except ImportError:
        return

    z, y, x = np.mgrid[:32, :64, :64].astype(np.float64)
    z *= 2.0

    def ball(centre, radii):
        return sum(((axis - at) / radius) ** 2 for axis, at, radius in zip((z, y, x), centre, radii, strict=True)) < 1

    organs = np.where(ball((32, 30, 22), (20, 18, 13)), 1, 0)
    organs[ball((30, 36, 47), (14, 11, 10))] = 2
    scan = np.array([40, 100, 140])[organs] + np.random.default_rng(0).normal(0, 20, organs.shape)
    seeds = np.zeros(organs.shape, np.uint8)
    seeds[16, 28:33, 20:25], seeds[15, 34:39, 45:50] = 2, 3
    seeds[16, 2:62, 2:4], seeds[16, 2:4, 2:62], seeds[2, 20:40, 20:50], seeds[29, 20:40, 20:50] = 1, 1, 1, 1
    for name, values in (("scan.nii.gz", np.rint(scan).astype(np.int16)), ("seeds.nii.gz", seeds)):
        image = SimpleITK.GetImageFromArray(values)
        image.SetSpacing((1.0, 1.0, 2.0))
        SimpleITK.WriteImage(image, str(folder / name), True)
        yield folder / name


def _stereo_pair(folder: Path, masks: dict) -> Iterator[Path]:
    """A rectified pair and its disparities."""
    from apps.stereo.disparity_files import encoded
    from apps.stereo.stereo_samples import layered_pair

    pair = layered_pair(_half(_photograph("coffee")), _half(masks["coffee"].astype(np.uint8) * 255) >= 128)
    yield write_image(folder / "left.png", pair.first)
    yield write_image(folder / "right.png", pair.second)
    yield write_bytes(folder / "left-disparity.png", encoded(-pair.flow[..., 0], "png"))


def _views(folder: Path, masks: dict) -> Iterator[Path]:
    """A photograph, seen again from the side, and the homography between the two."""
    import cv2

    first = _photograph("astronaut")
    ends = np.array([[60, 30], [500, 70], [470, 470], [20, 440]], np.float32)
    homography = cv2.getPerspectiveTransform(np.array([[0, 0], [511, 0], [511, 511], [0, 511]], np.float32), ends)
    yield _jpeg(folder / "view1.jpg", first)
    yield _jpeg(folder / "view2.jpg", cv2.warpPerspective(first, homography, (512, 512)))
    text = "\n".join(" ".join(f"{value:.9g}" for value in row) for row in homography)
    yield write_bytes(folder / "view1-homography.txt", f"{text}\n".encode())


def _particles(folder: Path, masks: dict) -> Iterator[Path]:
    """Bright particles that drift and diffuse, one image per frame, and a table of their positions."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:200, :200]
    points = rng.uniform(12, 188, (PARTICLES, 2))
    rows = ["frame,x,y"]
    for number in range(PARTICLE_FRAMES):
        image = rng.normal(20, 4, (200, 200))
        for px, py in points:
            image += 120 * np.exp(-((x - px) ** 2 + (y - py) ** 2) / 8.0)
        yield write_image(folder / "particles" / f"{number:04d}.png", np.clip(image, 0, 255).astype(np.uint8))
        rows += [f"{number},{px:.3f},{py:.3f}" for px, py in points]
        points += (1.0, 0.5) + rng.normal(0, 1.0, points.shape)
    yield write_bytes(folder / "detections.csv", ("\n".join(rows) + "\n").encode())


def _interferogram(folder: Path, masks: dict) -> Iterator[Path]:
    """The phase of a hill, noisy where the coherence is low, and the coherence; four looks."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:192, :192] / 192
    hill = 90 * np.exp(-((x - 0.55) ** 2 + (y - 0.45) ** 2) / 0.05) + 9 * np.sin(4 * x + 1) * np.cos(5 * y)
    coherence = 0.9 - 0.65 * np.exp(-((x - 0.3) ** 2 + (y - 0.7) ** 2) / 0.02)
    noise = rng.normal(size=(2, 2, 4, *hill.shape))
    first, other = noise[0] + 1j * noise[1]
    second = coherence * first + np.sqrt(1 - coherence**2) * other
    cycles = np.angle((first * second.conj()).sum(axis=0) * np.exp(1j * hill)) / (2 * np.pi)
    yield write_image(folder / "interferogram.png", np.rint(256 * cycles).astype(np.int64).astype(np.uint8))
    yield write_image(folder / "coherence.png", np.rint(255 * coherence).astype(np.uint8))


def _matrices(folder: Path, masks: dict) -> Iterator[Path]:
    """A square matrix of deficient structural rank, and the adjacency matrix of a weighted mesh."""
    rng = np.random.default_rng(0)
    size, block = 60, 12
    entries = {
        (i, j)
        for first in range(0, size, block)
        for i in range(first, first + block)
        for j in rng.integers(first, first + block, 3)
    }
    entries |= {(int(i), int(j)) for i, j in rng.integers(0, size, (40, 2)) if i < j}
    lines = [f"{i + 1} {j + 1}" for i, j in sorted((int(i), int(j)) for i, j in entries)]
    yield _matrix_market(folder / "jacobian.mtx", "general", size, lines, "pattern")
    side = 12
    lines = []
    for i in range(side * side):
        for j in (i + 1 if (i + 1) % side else None, i + side if i + side < side * side else None):
            if j is not None:
                lines.append(f"{j + 1} {i + 1} {rng.integers(1, 100)}")
    yield _matrix_market(folder / "mesh.mtx", "symmetric", side * side, lines, "integer")


def _matrix_market(path: Path, symmetry: str, size: int, lines: list[str], kind: str) -> Path:
    header = f"%%MatrixMarket matrix coordinate {kind} {symmetry}\n{size} {size} {len(lines)}\n"
    return write_bytes(path, (header + "\n".join(lines) + "\n").encode())
