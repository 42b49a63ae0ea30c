"""Kinds of files by the suffixes of their names, the same for all programs, and names without suffixes."""

import os
from pathlib import Path

IMAGES = (".png", ".jpg", ".jpeg", ".jpe", ".tif", ".tiff", ".bmp", ".webp", ".avif", ".ppm", ".pgm", ".gif")
TIFF = (".tif", ".tiff")  # may contain several pages
ANIMATED = (".gif", ".png", ".webp")  # may contain several frames
ARRAYS = (".npy", ".npz")
VIDEOS = tuple(".avi .mp4 .m4v .mov .mkv .webm .mpg .mpeg .wmv .flv .ogv .ts .mts .mxf".split())
# Suffixes of volumes by format; labels of a volume have the first one of its format, of DICOM that of NIfTI.
VOLUMES = {
    "npy": (".npy",),
    "TIFF": (*TIFF, ".ome.tif", ".ome.tiff"),
    "NIfTI": (".nii.gz", ".nii"),
    "NRRD": (".nrrd", ".nhdr"),
    "MetaImage": (".mha", ".mhd"),
    "DICOM": (".dcm", ".ima", ".dicom"),
}
VOLUME_OF = {suffix: kind for kind, suffixes in VOLUMES.items() for suffix in suffixes}
DOUBLE = (".nii.gz", ".ome.tif", ".ome.tiff", ".mtx.gz")  # suffixes with two parts


def is_image(path: Path) -> bool:
    """Whether the suffix of a file is one of an image."""
    return path.suffix.lower() in IMAGES


def suffix_of(path: Path) -> str:
    """Suffix of a file in lower case; of two parts for those in DOUBLE."""
    name = path.name.lower()
    return next((suffix for suffix in DOUBLE if name.endswith(suffix) and name != suffix), path.suffix.lower())


def stem_of(path: Path) -> str:
    """Name of a file without `suffix_of`; of a folder the whole name, which may contain dots."""
    if os.path.isdir(path):
        return path.resolve().name
    return path.name[: len(path.name) - len(suffix_of(path))]
