"""Where the voxels of a volume are in the world: spacing, origin, direction and unit.

Arrays have the axes z, y, x, and so does the spacing.  Origin and direction are in the world's x, y, z, as in ITK: the
centre of voxel (k, j, i) is  origin + direction @ (i * spacing_x, j * spacing_y, k * spacing_z).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 0.1  # of a voxel's shortest side: by how much spacing, origin or direction may displace a corner
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "nm": 1e-9, "Å": 1e-10, "inch": 0.0254}
SPELLINGS: dict[str, str | None] = {  # in lower case
    **dict.fromkeys(("", "pixel", "pixels", "voxel", "null", "none")),
    **dict.fromkeys(("meter", "metre"), "m"),
    **dict.fromkeys(("centimeter", "centimetre"), "cm"),
    **dict.fromkeys(("millimeter", "millimetre"), "mm"),
    **dict.fromkeys(("um", "μm", "\\u00b5m", "micron", "microns", "micrometer", "micrometre"), "µm"),
    **dict.fromkeys(("nanometer", "nanometre"), "nm"),
    **dict.fromkeys(("angstrom", "ångström"), "Å"),
    **dict.fromkeys(("in", "inches", '"'), "inch"),
}


@dataclass(frozen=True, slots=True)
class Geometry:
    """Position of a grid of voxels.

    Attributes
    ----------
    spacing : tuple of three float
        Size of a voxel along z, y and x.
    unit : str or None
        Unit of spacing and origin, such as "mm"; None if the file states none.
    origin : tuple of three float, or None
        World coordinates x, y, z of the centre of the first voxel; None if the format has none.
    direction : tuple of nine float, or None
        Rows of the matrix whose columns are the directions of the axes x, y, z; None if the format has none.
    """

    spacing: tuple[float, ...]
    unit: str | None = None
    origin: tuple[float, ...] | None = None
    direction: tuple[float, ...] | None = None

    def __str__(self) -> str:
        text = f"spacing {_numbers(self.spacing)}{f' {self.unit}' if self.unit else ''} (z, y, x)"
        if self.origin is not None:
            text += f", origin {_numbers(self.origin)} (x, y, z)"
        if self.direction is not None:
            text += f", direction {_numbers(self.direction)}"
        return text

    def world(self) -> np.ndarray | None:
        """Matrix (3, 4) from indices (k, j, i, 1) to the world's x, y, z; None without origin or direction."""
        if self.origin is None or self.direction is None:
            return None
        columns = np.reshape(self.direction, (3, 3)) * self.spacing[::-1]
        return np.column_stack([columns[:, ::-1], self.origin])

    def letters(self) -> list[str] | None:
        """Where the axes z, y and x begin and end: two of the letters RLAPIS each; None if the file has no direction.

        The world's x grows to the patient's left, y to the back, z to the head, as in DICOM and ITK.
        """
        if (world := self.world()) is None:
            return None
        nearest = enumerate(np.abs(world[:, :3]).argmax(axis=0))
        return [("RL", "AP", "IS")[axis][:: 1 if world[axis, k] > 0 else -1] for k, axis in nearest]


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """A volume and what is needed to write another one like it.

    Attributes
    ----------
    values : ndarray, shape (D, H, W)
        Values as stored, in native byte order.
    kind : str
        Format, a key of VOLUMES of `apps.common.file_kinds`, or "slices" for a folder of images.
    geometry : Geometry or None
        None if the file states no geometry.
    header : object or None
        Further metadata for the writer of the format: a dict of TIFF, nibabel's header of NIfTI.
    """

    values: np.ndarray
    kind: str
    geometry: Geometry | None = None
    header: Any = None


def unit_of(name: str | None) -> str | None:
    """Common spelling of a unit of length; an unknown name is unchanged, and "pixel" is no unit."""
    given = (name or "").strip()
    return SPELLINGS.get(given.lower(), given)


def factor(unit: str | None, target: str | None) -> float:
    """Number of `target` units in one `unit`; 1 if either is not a known unit of length."""
    return METRES[unit] / METRES[target] if unit in METRES and target in METRES else 1.0


def is_same_grid(one: Geometry | None, other: Geometry | None, shape: tuple[int, ...]) -> bool:
    """Whether two grids of this shape coincide, as far as both geometries are known."""
    if one is None or other is None:
        return True
    scale, near, far = factor(other.unit, one.unit), TOLERANCE * min(one.spacing), max(shape)
    parts = (
        (one.spacing, other.spacing, scale, near / far),
        (one.origin, other.origin, scale, near),
        (one.direction, other.direction, 1.0, TOLERANCE / far),
    )
    return all(
        mine is None or its is None or np.abs(np.subtract(mine, np.multiply(its, by))).max() <= most
        for mine, its, by, most in parts
    )


def _numbers(values) -> str:
    return " ".join(f"{value:.6g}" for value in values)
