"""The clip of `python -m benchmarks flow` and `follow`: frames of known motion; seconds alone and in sequence.

A photograph turns and grows slowly; a disc of another one circles in front of it, by 6 pixels per frame.
"""

import time

import cv2
import numpy as np

from apps.optical_flow import fusion
from apps.optical_flow.dense_flow import flow
from apps.optical_flow.sequence_flow import flow_sequence
from benchmarks.kept_results import Kept
from benchmarks.table import markdown

HEIGHT, WIDTH = 480, 640
RADIUS = 90  # pixels, of the disc
ORBIT = 110  # pixels, of its centre
TURN, GROWTH = 0.004, 1.002  # radians and factor per frame, of the ground
STEP = 0.055  # radians per frame, of the disc on its orbit


def clip(count):
    """`count` frames, uint8 (H, W, 3), and the flows between them, float32 (H, W, 2)."""
    import skimage.data

    ground, disc = (np.ascontiguousarray(image[..., :3]) for image in (skimage.data.coffee(), skimage.data.astronaut()))
    ground = cv2.resize(ground, (900, 600), interpolation=cv2.INTER_AREA)
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    points = np.stack([x.ravel(), y.ravel(), np.ones(x.size, np.float32)])
    frames, flows = [], []
    for number in range(count):
        here, there = _ground(number), _ground(number + 1)
        cx, cy = _centre(number)
        moved = np.subtract(_centre(number + 1), (cx, cy))
        frame = cv2.warpAffine(ground, here[:2], (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        shift = np.float32([[1, 0, cx - disc.shape[1] / 2], [0, 1, cy - disc.shape[0] / 2]])
        front = cv2.warpAffine(disc, shift, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        inside = (x - cx) ** 2 + (y - cy) ** 2 < RADIUS**2
        frames.append(np.where(inside[..., None], front, frame))
        ends = (there @ np.linalg.inv(here) @ points)[:2]
        motion = (ends - points[:2]).T.reshape(HEIGHT, WIDTH, 2)
        flows.append(np.where(inside[..., None], moved, motion).astype(np.float32))
    return frames, flows[:-1]


def followed(points, number):
    """Points (N, 2) of frame 0 in frame `number`, and whether they are visible there."""
    on_disc = np.linalg.norm(points - _centre(0), axis=1) < RADIUS
    ground = _ground(number) @ np.linalg.inv(_ground(0))
    moved = np.where(on_disc[:, None], points - _centre(0) + _centre(number), points @ ground[:2, :2].T + ground[:2, 2])
    is_covered = ~on_disc & (np.linalg.norm(moved - _centre(number), axis=1) < RADIUS)
    return moved, ~is_covered & (moved >= 0).all(axis=1) & (moved <= (WIDTH - 1, HEIGHT - 1)).all(axis=1)


def _ground(number):
    """The affine map (3, 3) from the photograph to frame `number`."""
    scale, angle = GROWTH**number, TURN * number
    cos, sin = scale * np.cos(angle), scale * np.sin(angle)
    turned = np.array([[cos, -sin], [sin, cos]])
    return np.vstack([np.column_stack([turned, [WIDTH / 2, HEIGHT / 2] - turned @ [450, 300]]), [0, 0, 1]])


def _centre(number):
    angle = STEP * number
    return WIDTH / 2 + ORBIT * np.cos(angle), HEIGHT / 2 + ORBIT * np.sin(angle)


def alone(frames, fast):
    """The flow of each pair by a call of its own, as an iterator."""
    for first, second in zip(frames, frames[1:], strict=False):
        yield flow(first, second, fast=fast, device="cpu")


def in_sequence(frames, fast):
    return flow_sequence(frames, fast=fast, device="cpu")


def clip_table(count):
    """EPE and seconds per pair."""
    frames, flows = clip(count)
    rows = []
    with Kept(fusion, "fusion_minimum") as cuts:
        for fast in (False, True):
            seconds = {}
            for name, method in (("each pair alone", alone), ("flow_sequence", in_sequence)):
                list(method(frames[:3], fast))  # compiles
                start, processor = time.perf_counter(), time.process_time()
                found = [one.flow for one in method(frames, fast)]
                seconds[name] = (time.perf_counter() - start) / len(flows)
                processor = (time.process_time() - processor) / len(flows)
                cuts.check()
                error = np.mean([np.linalg.norm(a - b, axis=2).mean() for a, b in zip(found, flows, strict=True)])
                ratio = seconds["each pair alone"] / seconds[name]
                label = f"{name}, --fast" if fast else name
                rows.append([label, f"{error:.3f}", f"{seconds[name]:.3f}", f"{processor:.3f}", f"{ratio:.2f}"])
    columns = ["method", "EPE", "s a pair", "processor s a pair", "times as fast"]
    title = f"## A clip of {count} frames, {WIDTH} × {HEIGHT}"
    return f"{title}\n\n{markdown(columns, rows)}\n\n{cuts.checked} fusion cuts, each checked ✓"
