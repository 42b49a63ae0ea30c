"""Masks of one image in files, as networks, annotation programs and people write them.

.npy, .npz          probabilities, logits or labels, as apps.segmentation.masks reads arrays; .npz with one array
images              PNG, TIFF and others: a mask, grey levels of 8 or 16 bits, floats, a label map
COCO (.json)        annotations of the image with polygons or run lengths; of several images, by file name
a folder            of files of the first two kinds, each the mask of one object, in order of name
"""

from pathlib import Path

import numpy as np

from apps.common.annotations import MAX_SIDE, annotated_images, is_coco, keys_of, mask_of_segmentation, read_json
from apps.common.errors import InputError
from apps.common.file_kinds import ARRAYS, is_image, stem_of
from apps.common.images import by_number, read_bytes
from apps.common.outputs import files_in
from apps.segmentation.masks import values_in


def read_masks(path, image: Path, kind: str, option: str = "masks") -> tuple[np.ndarray, str]:
    """The masks of an image as an array, and their kind, for `apps.segmentation.masks.soft_masks_of`.

    Raises InputError, naming the option, for files that cannot be read or are of another kind.
    """
    path = Path(path)
    if path.is_dir():
        return _of_folder(path, option), "objects"
    if path.suffix.lower() == ".json":
        return _of_coco(path, image, option), "labels"
    return values_in(read_bytes(path, option), path, option), kind


def _of_folder(path: Path, option: str) -> np.ndarray:
    """Masks (K, h, w) of a folder."""
    shown = [one for one in files_in(path, option) if not one.name.startswith(".")]
    files = [one for one in shown if one.suffix.lower() in ARRAYS or is_image(one)]
    if not files:
        raise InputError(f"{option}: folder {str(path)!r} holds no mask (.png, .tif, .npy, ...); one per object")
    ordered = sorted(files, key=by_number)
    masks = [np.squeeze(values_in(read_bytes(one, option), one, option)) for one in ordered]
    shapes = {mask.shape for mask in masks}
    if len(shapes) > 1:
        listed = ", ".join(map(str, sorted(shapes)))
        raise InputError(f"{option}: folder {str(path)!r} holds masks of shapes {listed}; make them the same size")
    full = [mask / np.iinfo(mask.dtype).max if mask.dtype.kind == "u" and mask.max() > 1 else mask for mask in masks]
    return np.stack(full)


def _of_coco(path: Path, image: Path, option: str) -> np.ndarray:
    """The label map, uint16, of the annotations of an image: from 1, in their order, the smaller ones on top."""
    shown, content = f"{option}: {str(path)!r}", read_json(path, option)
    if not is_coco(content):
        raise InputError(f"{shown} must be COCO: JSON with images and annotations; export it again")
    table = annotated_images(content, shown)
    key = next((key for _, key in keys_of(table, [image])), next(iter(table)) if len(table) == 1 else None)
    if key is None:
        raise InputError(f"{shown} has {len(table)} images, but none named {stem_of(image)!r}; name them as the images")
    entry, annotations = table[key]
    try:
        shape = int(entry["height"]), int(entry["width"])
        if not all(0 < side <= MAX_SIDE for side in shape):
            raise ValueError("an image without a size")
        masks = [mask_of_segmentation(one["segmentation"], shape) for one in annotations if not one.get("iscrowd")]
    except Exception as error:  # of pycocotools, too, which has no error of its own
        raise InputError(f"{shown} has an annotation that cannot be read ({error!r}); export it again") from None
    if not masks:
        raise InputError(f"{shown} has no annotation of {image.name!r}; add one, or leave the image out")
    labels = np.zeros(shape, np.uint16)
    for number in sorted(range(len(masks)), key=lambda number: -np.count_nonzero(masks[number])):
        labels[masks[number]] = number + 1
    return labels
