"""Min-cut instances on image grids, built from images in the scikit-image wheel or from a seed.

A `Problem` holds the arguments of `gridcut.max_flow`: int32 capacities from the source and to the sink, and one
array per undirected kind of edge, 0 where the edge would leave the grid.  `VALUES` are the values of their
maximum flows, found with PyMaxflow (those of `LARGE`, 16.8 million pixels each, by certified cuts); the nine
instances of `SUITE` are those timings are quoted on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
import skimage.data

import gridcut
from benchmarks import hard_grids
from gridcut.core.problem import ends


@dataclass(frozen=True, slots=True)
class Problem:
    """Arguments of max_flow; edges {offset: capacity} are undirected."""

    source: np.ndarray
    sink: np.ndarray
    edges: dict[tuple[int, ...], np.ndarray]

    def save(self, folder):
        """Write the arrays to a folder, for another process to `read`."""
        for k, array in enumerate([self.source, self.sink, *self.edges.values()]):
            np.save(folder / f"{k}.npy", array)
        np.save(folder / "offsets.npy", np.array(list(self.edges)))

    @classmethod
    def read(cls, folder):
        offsets = np.load(folder / "offsets.npy")
        source, sink, *weights = (np.load(folder / f"{k}.npy") for k in range(2 + len(offsets)))
        return cls(source, sink, dict(zip(map(tuple, offsets.tolist()), weights, strict=True)))


def segmentation(name, scale, diagonals=False, strength=50.0, unit=100, bins=16):
    """A photograph: unaries from colour histograms inside and outside a box, contrast-sensitive edges.

    Terminal capacities are dense and differ from pixel to pixel; the edges are strong, so flow goes far.
    """
    image = _photo(name, scale)
    noise = np.random.default_rng(0).normal(0, 4, image.shape)
    image = np.clip(image + noise, 0, 255).astype(np.uint8)
    h, w = image.shape[:2]
    inside = np.zeros((h, w), bool)
    inside[h // 10 : h * 9 // 10, w // 6 : w * 5 // 6] = True

    bin_of = (image // (256 // bins)).astype(np.int64)
    key = (bin_of[..., 0] * bins + bin_of[..., 1]) * bins + bin_of[..., 2]
    foreground = np.bincount(key[inside], minlength=bins**3) + 0.5
    background = np.bincount(key[~inside], minlength=bins**3) + 0.5
    source = np.rint(-unit * np.log(background / background.sum())[key]).astype(np.int32)
    sink = np.rint(-unit * np.log(foreground / foreground.sum())[key]).astype(np.int32)
    source[~inside] = 0
    sink[~inside] = 100 * unit
    common = np.minimum(source, sink)

    colours = image.astype(np.float32)
    squared = {offset: ((colours[q] - colours[p]) ** 2).sum(-1) for offset, (p, q) in _pairs((h, w), diagonals).items()}
    # The fall of the weights is taken from the four neighbours in both variants: one image, one rule.
    beta = 1 / (2 * np.mean(np.concatenate([squared[0, 1].ravel(), squared[1, 0].ravel()])) + 1e-9)
    weights = {offset: unit * strength * np.exp(-beta * d) / _length(offset) for offset, d in squared.items()}
    return Problem(source - common, sink - common, _laid_out((h, w), weights))


def ising(name, scale, diagonals=False, weight=60, flipped=0.3):
    """A two-level image with pixels flipped at random, uniform edges: the ties of a denoising problem."""
    grey = _grey(name, scale)
    bright = (grey > np.median(grey)) ^ (np.random.default_rng(1).random(grey.shape) < flipped)
    source = np.where(bright, 100, 0).astype(np.int32)
    return Problem(source, 100 - source, _uniform(grey.shape, weight, diagonals))


def grey_unary(name, scale, weight=30, diagonals=False):
    """Noisy grey values against their median, uniform edges: few ties, every scale of structure."""
    grey = _grey(name, scale)
    grey = grey + np.random.default_rng(2).normal(0, 40, grey.shape)
    level = np.rint(grey - np.median(grey)).astype(np.int32)
    return Problem(np.maximum(level, 0), np.maximum(-level, 0), _uniform(grey.shape, weight, diagonals))


def vessels(size, neighbours, seed=3, noise=30.0, contrast=60.0):
    """A branching tree of thinning tubes in noise, a volume of size**3 voxels, contrast-sensitive edges.

    The trees grow from one face, each branch a random walk with inertia that splits in two until its tubes
    are a voxel thin.  Sparse thin structures in a large background are the hard case in 3-D.
    """
    tree = _vessel_tree(size, seed)
    volume = contrast * tree + np.random.default_rng(seed + 1).normal(0, noise, tree.shape)
    volume = volume.astype(np.float32)
    level = np.rint(volume - contrast / 2).astype(np.int32)
    squared = {offset: (volume[q] - volume[p]) ** 2 for offset, (p, q) in _pairs(tree.shape, neighbours == 26).items()}
    beta = 1 / (2 * np.mean([squared[o].mean() for o in ((0, 0, 1), (0, 1, 0), (1, 0, 0))]))
    # 26 neighbours cut some three times as many edges per unit of surface as 6
    strength = 40.0 if neighbours == 6 else 12.0
    weights = {offset: strength * np.exp(-beta * d) / _length(offset) for offset, d in squared.items()}
    return Problem(np.maximum(level, 0), np.maximum(-level, 0), _laid_out(volume.shape, weights))


def hard(family, cells=16384):
    """A grid of benchmarks/hard_grids.py."""
    return Problem(*hard_grids.FAMILIES[family](cells))


SUITE: dict[str, Callable[[], Problem]] = {
    "astronaut": partial(segmentation, "astronaut", 1),
    "astronaut x4": partial(segmentation, "astronaut", 4),
    "coffee x4": partial(segmentation, "coffee", 4),
    "retina": partial(segmentation, "retina", 1),
    "ising camera": partial(ising, "camera", 1),
    "ising camera x4": partial(ising, "camera", 4),
    "grey hubble x2": partial(grey_unary, "hubble_deep_field", 2),
    "grey camera x4": partial(grey_unary, "camera", 4),
    "grey camera x4, 100": partial(grey_unary, "camera", 4, 100),
}
EIGHT: dict[str, Callable[[], Problem]] = {
    "astronaut, 8": partial(segmentation, "astronaut", 1, diagonals=True),
    "ising camera, 8": partial(ising, "camera", 1, diagonals=True),
    "grey camera x4, 8": partial(grey_unary, "camera", 4, diagonals=True),
}
VOLUMES: dict[str, Callable[[], Problem]] = {
    "vessels 128, 6": partial(vessels, 128, 6),
    "vessels 128, 26": partial(vessels, 128, 26),
}
LARGE: dict[str, Callable[[], Problem]] = {
    "astronaut x8": partial(segmentation, "astronaut", 8),
    "ising camera x8": partial(ising, "camera", 8),
    "grey camera x8": partial(grey_unary, "camera", 8),
    "grey camera x8, 100": partial(grey_unary, "camera", 8, 100),
    "vessels 256, 6": partial(vessels, 256, 6),
}
HARD: dict[str, Callable[[], Problem]] = {family: partial(hard, family) for family in hard_grids.FAMILIES}
ALL = SUITE | EIGHT | VOLUMES | LARGE | HARD
VALUES = {
    "astronaut": 4419361,
    "astronaut x4": 37731038,
    "coffee x4": 34884963,
    "retina": 15862014,
    "ising camera": 8916420,
    "ising camera x4": 133056920,
    "grey hubble x2": 45970398,
    "grey camera x4": 19111335,
    "grey camera x4, 100": 22476205,
    "astronaut, 8": 6140403,
    "ising camera, 8": 9479052,
    "grey camera x4, 8": 21306068,
    "vessels 128, 6": 5979462,
    "vessels 128, 26": 6184891,
    "astronaut x8": 118234472,
    "ising camera x8": 518976780,
    "grey camera x8": 73111653,
    "grey camera x8, 100": 84307845,
    "vessels 256, 6": 48466696,
    "line": 8192,
    "ladder": 8192,
    "tall ladder": 8192,
    "snake": 4128,
    "comb": 4128,
    "zigzag": 4160,
    "random levels": 385517,
    "long random levels": 81463,
}


def _photo(name, scale):
    image = getattr(skimage.data, name)()
    if image.ndim == 2:
        image = np.stack([image] * 3, -1)
    h, w = image.shape[:2]
    return cv2.resize(image[..., :3], (w * scale, h * scale), interpolation=cv2.INTER_CUBIC)


def _grey(name, scale):
    image = getattr(skimage.data, name)()
    if image.ndim == 3:
        image = image[..., :3].mean(-1)
    h, w = image.shape
    return cv2.resize(image.astype(np.float32), (w * scale, h * scale), interpolation=cv2.INTER_CUBIC)


def _pairs(shape, diagonals):
    """{offset: (index of p, index of q)} for all p with q = p + offset inside the grid, undirected."""
    neighbours = 3 ** len(shape) - 1 if diagonals else 2 * len(shape)
    return {offset: ends(shape, (offset,)) for offset in gridcut.neighbourhood(neighbours)}


def _length(offset):
    return float(np.sqrt(np.square(offset).sum()))


def _laid_out(shape, weights):
    """Round weights given on the pairs only and lay them out on the whole grid, 0 beyond its border."""
    edges = {}
    for offset, (p, _) in _pairs(shape, len(weights) > len(shape)).items():
        edges[offset] = np.zeros(shape, np.int32)
        edges[offset][p] = np.rint(weights[offset])
    return edges


def _uniform(shape, weight, diagonals):
    return _laid_out(shape, {offset: weight / _length(offset) for offset in _pairs(shape, diagonals)})


def _vessel_tree(size, seed):
    """1 inside the tubes, 0 outside, float32."""
    rng = np.random.default_rng(seed)
    tree = np.zeros((size,) * 3, np.float32)
    reach = np.arange(size)
    roots = [np.array([0.0, *rng.uniform(0.25, 0.75, 2) * size]) for _ in range(3)]
    branches = [(root, np.array([1.0, 0.0, 0.0]), size / 24) for root in roots]
    while branches:
        place, heading, radius = branches.pop()
        for _ in range(int(3 * radius + size / 12)):
            heading = heading + rng.normal(0, 0.12, 3)
            heading /= np.linalg.norm(heading)
            place = place + heading
            if ((place < 0) | (place >= size)).any():
                break
            near = [reach[max(0, int(x - radius)) : int(x + radius) + 2] for x in place]
            ball = sum((g - x) ** 2 for g, x in zip(np.ix_(*near), place, strict=True)) <= radius**2
            tree[np.ix_(*near)] = np.maximum(tree[np.ix_(*near)], ball)
        else:
            if radius > 0.8:
                turn = rng.normal(0, 0.6, 3)
                branches += [(place, heading + turn, radius * 0.8), (place, heading - turn, radius * 0.75)]
    return tree
