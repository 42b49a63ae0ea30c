"""Objects of an image as annotations: a class, a colour, and pixels with their exact outlines."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # outlines are traced on demand; their module loads numba
    import numpy as np

    from apps.common.outlines import Polygon


@dataclass(frozen=True)
class Annotation:
    """An object of an image: its class and its pixels.

    Attributes
    ----------
    name : str
        Name of its class.
    value : int
        Its number, from 1.
    colour : tuple of int
        Displayed colour, R, G, B in 0 .. 255.
    mask : ndarray of bool, shape (H, W)
        Its pixels, in the upright image.
    category : int, optional
        Number of its class.  Default: its own number.
    score : float, optional
        Of the detector that found it.
    """

    name: str
    value: int
    colour: tuple[int, int, int]
    mask: "np.ndarray"
    category: int | None = None
    score: float | None = None

    @cached_property
    def polygons(self) -> "list[Polygon]":
        """Exact outlines; traced on first use and shared by the formats."""
        from apps.common.outlines import polygons_of

        return polygons_of(self.mask)
