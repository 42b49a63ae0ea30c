"""An object carried through clips whose masks are known: the library, and `cutmatch segment` on a clip."""

import json

import cv2
import numpy as np
import pytest
from PIL import Image

from apps import cli, segment_video
from apps.segmentation import clip_job
from apps.segmentation.location import LOCATING, either
from apps.segmentation.video import signed_distance
from tests.apps.conftest import iou

OBJECT, BACKGROUND = 1, 2  # codes of a stroke image

FRAMES = 8
SHAPE = (60, 81)  # odd, so that codecs lose a column


def clip(frames=FRAMES, step=2, shape=SHAPE, seed=0):
    """A textured disc that moves to the right over a textured ground: uint8 RGB frames and their masks."""
    rng = np.random.default_rng(seed)
    texture = [cv2.GaussianBlur(rng.normal(0, 60, (shape[0], shape[1] + 99, 3)), None, 1.5) for _ in range(2)]
    y, x = np.mgrid[: shape[0], : shape[1]]
    images, masks = [], []
    for number in range(frames):
        mask = (y - shape[0] // 2) ** 2 + (x - 22 - step * number) ** 2 < 14**2
        front = (190, 110, 60) + np.roll(texture[0], step * number, 1)[:, : shape[1]]
        back = (60, 90, 120) + np.roll(texture[1], -number, 1)[:, : shape[1]]
        images.append(np.uint8(np.clip(np.where(mask[..., None], front, back), 0, 255)))
        masks.append(mask)
    return images, masks


def strokes_on(mask, kinds=(OBJECT, BACKGROUND)):
    """A stroke image, far from the outline of a mask."""
    distance = signed_distance(mask)
    marks = np.zeros(mask.shape, np.uint8)
    marks[(distance > 8) & (OBJECT in kinds)] = OBJECT
    marks[(distance < -8) & (BACKGROUND in kinds)] = BACKGROUND
    return marks


@pytest.mark.parametrize("keys", [[0], [7], [3], [0, 7], [1, 5]])
def test_masks_from_any_key_frames(keys):
    frames, masks = clip()
    found = list(segment_video(frames, {key: strokes_on(masks[key]) for key in keys}, device="cpu"))
    assert [one.number for one in found] == list(range(FRAMES))
    for one, frame, mask in zip(found, frames, masks, strict=True):
        assert iou(one.mask, mask) > 0.93, one.number
        assert (one.frame == frame).all()
        assert abs(one.number - one.key) == min(abs(one.number - key) for key in keys)
        assert one.is_certified == (one.number not in keys)
        assert one.seconds > 0
        assert np.isfinite(one.energy)
    for key in keys:
        marks = strokes_on(masks[key])
        assert found[key].mask[marks == OBJECT].all()
        assert not found[key].mask[marks == BACKGROUND].any()


def test_flow_follows_what_is_faster_than_the_band():
    frames, masks = clip(5, step=11, shape=(60, 101))
    strokes = {0: strokes_on(masks[0])}
    assert iou([one.mask for one in segment_video(frames, strokes, device="cpu")][-1], masks[-1]) > 0.9


def test_strokes_of_one_kind_correct_the_carried_mask():
    frames, masks = clip()
    wrong = masks[0].copy()
    wrong[4:16, 4:60] = True  # the user marked a bar that is no part of the disc
    first = strokes_on(masks[0])
    first[4:16, 4:60] = OBJECT
    correction = np.zeros(SHAPE, np.uint8)
    correction[5:15, 2:78] = BACKGROUND
    carried = list(segment_video(frames, {0: first}, device="cpu"))
    corrected = list(segment_video(frames, {0: first, 4: correction}, device="cpu"))
    assert iou(corrected[4].mask, masks[4]) > iou(carried[4].mask, masks[4]) + 0.1
    assert not corrected[4].mask[correction == BACKGROUND].any()
    assert iou(corrected[-1].mask, masks[-1]) > 0.9
    assert [one.key for one in corrected] == [0, 4, 4, 4, 4, 4, 4, 4]
    for at in (1, 2, 3):  # where the bar was, and nowhere else
        assert iou(corrected[at].mask, masks[at]) > iou(carried[at].mask, masks[at]) + 0.1
        assert corrected[at].is_certified
        assert (corrected[at].mask[32:] == carried[at].mask[32:]).all()


@pytest.mark.parametrize("kind", ["box", "start"])
def test_a_box_or_a_start_mask_of_the_first_frame(kind):
    frames, masks = clip(3)
    given = (
        {"box": (4, 12, 40, 48)} if kind == "box" else {"start": cv2.erode(masks[0].view(np.uint8), np.ones((5, 5)))}
    )
    found = list(segment_video(frames, **given, device="cpu"))
    assert all(iou(one.mask, mask) > 0.9 for one, mask in zip(found, masks, strict=True))
    assert [one.key for one in found] == [0, 0, 0]


@pytest.fixture
def given(tmp_path):
    """A clip as a video and as a folder of frames, and strokes of its first frame."""
    frames, masks = clip()
    writer = cv2.VideoWriter(str(tmp_path / "disc.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 12.5, (80, 60))
    (tmp_path / "frames").mkdir()
    (tmp_path / "strokes").mkdir()
    for number, frame in enumerate(frames):
        writer.write(frame[:, :80, ::-1].copy())  # codecs require even sides
        Image.fromarray(frame).save(tmp_path / "frames" / f"shot{number + 10}.png")
    writer.release()
    Image.fromarray(strokes_on(masks[0])[:, :80]).save(tmp_path / "strokes.png")
    return tmp_path


def run(*words):
    return cli.main(["segment", *map(str, words), "--overwrite", "--device", "cpu", "--quiet"])


def mask_of(folder, name, number):
    return np.array(Image.open(folder / f"{name}-mask{number:04}.png")) > 0


def test_a_video_file(given):
    _, masks = clip()
    out, report = given / "out", given / "report.json"
    assert run(given / "disc.avi", "--strokes", given / "strokes.png", "--out", out, "--json", report) == 0
    names = sorted(path.name for path in out.glob("[!.]*"))
    masks_written = [f"disc-mask{number:04}.png" for number in range(FRAMES)]
    assert names == [*masks_written, "disc-overlay.mp4", "disc-segment.json"]
    for number, mask in enumerate(masks):
        assert iou(mask_of(out, "disc", number), mask[:, :80]) > 0.9
    content = json.loads(report.read_text("utf-8"))
    assert content["key_frames"] == [0]
    assert [row["frame"] for row in content["frames"]] == list(range(FRAMES))
    assert [row["certified"] for row in content["frames"]] == [False] + [True] * (FRAMES - 1)
    for number, row in enumerate(content["frames"]):
        assert row["object_pixels"] == mask_of(out, "disc", number).sum()
    overlay = cv2.VideoCapture(str(out / "disc-overlay.mp4"))
    assert overlay.get(cv2.CAP_PROP_FPS) == 12.5
    shown = [overlay.read()[1] for _ in range(FRAMES)]
    assert shown[0].shape == (60, 80, 3)
    assert not overlay.read()[0]
    inside = masks[-1][:, :80]
    assert shown[-1][inside].mean() > 1.5 * shown[-1][~inside].mean(), "the background is dimmed"
    assert run(given / "disc.avi", "--strokes", given / "strokes.png", "--out", out) == 0, "replaces its own results"


def test_a_folder_of_frames_with_strokes_named_by_frame(given):
    _, masks = clip()
    # One by the frame's name, one by its number.
    Image.fromarray(strokes_on(masks[1])).save(given / "strokes" / "shot11.png")
    Image.fromarray(strokes_on(masks[6])).save(given / "strokes" / "0006.png")
    report = given / "report.json"
    assert run(given / "frames", "--clip", "--strokes", given / "strokes", "--out", given / "out", "--write",
               "mask,cutout", "--json", report) == 0  # fmt: skip
    content = json.loads(report.read_text("utf-8"))
    assert content["key_frames"] == [1, 6]
    assert [row["key_frame"] for row in content["frames"]] == [1, 1, 1, 1, 6, 6, 6, 6]
    for number, mask in enumerate(masks):
        found = mask_of(given / "out", "frames", number)
        assert iou(found, mask) > 0.93
        alpha = np.array(Image.open(given / "out" / f"frames-cutout{number:04}.png"))[..., 3]
        assert iou(alpha > 127, found) > 0.9


def test_command_lines_that_are_refused(given, rejects):
    frames, masks = clip()
    avi, strokes, folder = given / "disc.avi", given / "strokes.png", given / "strokes"
    data = avi.read_bytes()
    (given / "half.avi").write_bytes(data[: len(data) // 2])
    np.save(given / "one.npy", np.stack(frames[:1]))
    Image.fromarray(strokes_on(masks[0])[:, :50]).save(given / "narrow.png")
    Image.fromarray(strokes_on(masks[0], (OBJECT,))[:, :80]).save(given / "red.png")
    Image.fromarray(strokes_on(masks[0])[:, :80]).save(given / "late0008.png")
    out = ("--out", given / "out", "--device", "cpu", "--quiet")

    def refuse(message, *words):
        rejects(["segment", *words, *out], message, given)

    refuse("is truncated", given / "half.avi", "--strokes", strokes)
    refuse("contains one frame; two or more are needed", given / "one.npy", "--clip", "--strokes", strokes)
    refuse(r"late0008.png' \(frame 8\) is beyond the end: the clip has 8 frames", avi, "--strokes",
           given / "late0008.png")  # fmt: skip
    refuse("is 50x60 pixels, but the frames are 80x60", avi, "--strokes", given / "narrow.png")
    refuse(r"\(frame 0\) marks no background", avi, "--strokes", given / "red.png")
    refuse(r"strokes' holds no image", avi, "--strokes", folder)
    Image.fromarray(strokes_on(masks[0])).save(folder / "first.png")
    refuse("'first.png' names no frame", avi, "--strokes", folder)
    (folder / "first.png").unlink()
    for name in ("f0.png", "g0.png"):
        Image.fromarray(strokes_on(masks[0])).save(folder / name)
    refuse("'f0.png' and 'g0.png' both mark frame 0", avi, "--strokes", folder)
    refuse("2 inputs, of which one is a clip; pass one clip", avi, given / "one.npy", "--clip", "--strokes", strokes)
    refuse(f"clips require {either(LOCATING['clips'])}, got --label-strokes", avi, "--label-strokes", strokes)
    refuse("--fill-holes does not apply to clips", avi, "--strokes", strokes, "--fill-holes")
    refuse("2 inputs, of which one is a clip", avi, given / "frames" / "shot10.png", "--strokes", strokes)
    refuse("--write: a clip has no 'coco'; the kinds of a clip are mask, overlay, cutout", avi, "--strokes", strokes,
           "--write", "mask,coco")  # fmt: skip
    refuse("one file for 8 images; .* frames of a clip, pass --clip", given / "frames", "--strokes", strokes)
    rejects(["segment", given / "frames", "--clip", "--strokes", strokes, "--out", given / "frames"],
            "is the folder of image", given)  # fmt: skip


def test_a_box_and_strokes_that_correct_a_later_frame(given):
    _, masks = clip()
    Image.fromarray(strokes_on(masks[5], (BACKGROUND,))[:, :80]).save(given / "strokes" / "5.png")
    arguments = ["--box", "4,12,40,48", "--strokes", given / "strokes", "--out", given / "out", "--write", "mask"]
    assert run(given / "disc.avi", *arguments, "--json", given / "report.json") == 0
    assert iou(mask_of(given / "out", "disc", FRAMES - 1), masks[-1][:, :80]) > 0.9
    report = json.loads((given / "report.json").read_text("utf-8"))
    assert "2 key frames, " in clip_job.line(report)
