"""Frame pairs of known flow, created from photographs that come with scikit-image."""

import cv2
import numpy as np
import pytest


class FramePair:
    """first and second, uint8 (H, W, 3); flow, float32 (H, W, 2); known, bool (H, W)."""

    def __init__(self, first, second, flow, known=None):
        self.first, self.second, self.flow = first, second, flow.astype(np.float32)
        self.known = np.ones(flow.shape[:2], bool) if known is None else known

    @property
    def levels(self):
        """The pyramid of the frames, finest first."""
        from apps.optical_flow.frame import Frame
        from apps.optical_flow.refine import paired

        return paired(*(Frame(frame.astype(np.float32) / 255).levels for frame in (self.first, self.second)))

    def error(self, flow):
        return np.linalg.norm(flow - self.flow, axis=2)


def photo(name, width=256, height=192):
    import skimage.data

    return cv2.resize(getattr(skimage.data, name)()[..., :3], (width, height), interpolation=cv2.INTER_AREA)


def sampled(image, flow):
    """image(p + flow(p)), what the first frame shows when `image` is the second."""
    y, x = np.mgrid[: flow.shape[0], : flow.shape[1]].astype(np.float32)
    return cv2.remap(image, x + flow[..., 0], y + flow[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)


@pytest.fixture(scope="session")
def smooth_pair():
    """A photograph under a smooth motion of up to 17 pixels."""
    y, x = np.mgrid[:192, :256]
    flow = np.dstack([4 + 6 * np.sin(y / 40) + 0.03 * x, -3 + 5 * np.cos(x / 50)]).astype(np.float32)
    second = photo("astronaut")
    there = np.dstack([x, y]) + flow
    inside = (there >= 0).all(axis=2) & (there[..., 0] <= 255) & (there[..., 1] <= 191)
    return FramePair(sampled(second, flow), second, flow, inside)


@pytest.fixture(scope="session")
def disc_pair():
    """A textured disc that moves 32 pixels over a ground that moves 3; `hidden` is what the disc comes to cover."""
    ground, disc = photo("astronaut"), photo("coffee")
    y, x = np.mgrid[:192, :256]
    inside = (x - 100) ** 2 + (y - 100) ** 2 < 40**2
    motion, drift = (30, -12), (3, 1)
    moved = (x - 130) ** 2 + (y - 88) ** 2 < 40**2
    shifted = [
        cv2.warpAffine(image, np.float32([[1, 0, by[0]], [0, 1, by[1]]]), (256, 192), borderMode=cv2.BORDER_REFLECT)
        for image, by in ((ground, drift), (disc, motion))
    ]
    first = np.where(inside[..., None], disc, ground)
    second = np.where(moved[..., None], shifted[1], shifted[0])
    pair = FramePair(first, second, np.where(inside[..., None], np.float32(motion), np.float32(drift)))
    pair.disc = inside
    pair.hidden = ~inside & np.roll(moved, (-drift[1], -drift[0]), (0, 1))
    return pair


@pytest.fixture(scope="session")
def motorcycle():
    """A real stereo pair at half size: its flow is (-disparity, 0) where that is known."""
    import skimage.data

    left, right, disparity = skimage.data.stereo_motorcycle()
    width, height = 370, 250
    frames = [cv2.resize(f[..., :3], (width, height), interpolation=cv2.INTER_AREA) for f in (left, right)]
    disparity = cv2.resize(disparity, (width, height), interpolation=cv2.INTER_NEAREST) * (width / left.shape[1])
    known = np.isfinite(disparity)
    disparity = np.where(known, disparity, 0)
    return FramePair(*frames, np.dstack([-disparity, np.zeros_like(disparity)]), known)
