"""Names of inputs without their suffixes, after which results are named."""

import os
from pathlib import Path

DOUBLE = (".nii.gz", ".ome.tif", ".ome.tiff")  # suffixes with two parts, in lower case


def suffix_of(path: Path) -> str:
    """Suffix of a file in lower case; of two parts for those in DOUBLE."""
    name = path.name.lower()
    return next((suffix for suffix in DOUBLE if name.endswith(suffix) and name != suffix), path.suffix.lower())


def stem_of(path: Path) -> str:
    """Name of a file without `suffix_of`; of a folder the whole name, which may contain dots."""
    if os.path.isdir(path):
        return path.resolve().name
    return path.name[: len(path.name) - len(suffix_of(path))]
