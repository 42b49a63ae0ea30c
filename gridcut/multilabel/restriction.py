"""Labels that moves may assign: a narrow band of labels per pixel, for example, instead of all.

A pixel that may not take the label of an expansion keeps its own, so it is not part of the cut: the time of an
expansion depends on the number of pixels that may take its label.  A descent converges when no allowed expansion of any
label lowers the energy."""

import numpy as np

from gridcut.device.arguments import plain_array
from gridcut.multilabel.validation import LabelProblem, check_start


def check_allowed(allowed, device: str, problem_shape: tuple[int, ...]) -> np.ndarray:
    """The checked argument `allowed` of `alpha_expansion`; raises TypeError or ValueError."""
    if device == "cuda":
        raise ValueError("allowed is supported on the CPU only, but device='cuda' was requested; use device='cpu'")
    mask = plain_array("allowed", allowed)
    if mask.dtype != np.bool_:
        raise TypeError(f"allowed must hold booleans, got {mask.dtype}")
    if mask.shape != problem_shape:
        raise ValueError(f"allowed must have the shape of unary {problem_shape}, got {mask.shape}")
    forbids_all = ~mask.any(axis=0)
    if forbids_all.any():
        where = tuple(int(i) for i in np.argwhere(forbids_all)[0])
        raise ValueError(f"allowed forbids every label at pixel {where}: at least one per pixel must be allowed")
    return np.ascontiguousarray(mask)


def check_allowed_start(start, problem: LabelProblem) -> np.ndarray:
    """The initial labelling; the cheapest allowed label of each pixel if `start` is None."""
    allowed = problem.allowed
    if allowed is None:
        return check_start(start, problem)
    if start is None:
        never = np.iinfo(problem.unary.dtype).max
        return np.where(allowed, problem.unary, never).argmin(axis=0).astype(np.int32)
    labels = check_start(start, problem)
    outside = ~taken(allowed, labels)
    if outside.any():
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        raise ValueError(f"start has label {labels[where]} at pixel {where}, which allowed forbids there")
    return labels


def kept_if_allowed(labels: np.ndarray, otherwise: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """`labels` where they are allowed, and `otherwise` elsewhere."""
    return labels if allowed is None else np.where(taken(allowed, labels), labels, otherwise)


def taken(allowed: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether the label of each pixel is allowed there."""
    return np.take_along_axis(allowed, labels[None].astype(np.intp), 0)[0]
