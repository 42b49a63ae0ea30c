"""COCO annotations of objects, as polygons or run-length encoded, and the merge of files of several images.

Both forms decode to exactly the mask in pycocotools.  A polygon has the corners of pixels (`apps.common.outlines`); a
hole is joined to its outer ring (`apps.common.keyholes`), because COCO has no holes.  Pixel (x, y) extends from x to
x + 1, so `bbox`, [x, y, width, height], contains the pixels exactly and `area` is their number.

Format: https://cocodataset.org/#format-data
"""

from collections.abc import Iterable

import numpy as np

from apps.common.annotations import Annotation
from apps.common.keyholes import single_ring
from apps.common.rle import compressed, run_lengths


def document(file_name: str, shape: tuple[int, int], objects: Iterable[Annotation], rle: bool) -> dict:
    """The content of a COCO file of one image (H, W).  An object without pixels is a category without annotation."""
    annotations: list[dict] = []
    categories: dict[int, dict] = {}
    for found in objects:
        category = found.value if found.category is None else found.category
        categories.setdefault(category, {"id": category, "name": found.name, "supercategory": ""})
        rows, columns = (np.flatnonzero(found.mask.any(axis=axis)).tolist() for axis in (1, 0))
        if not rows:
            continue
        runs = {"size": list(found.mask.shape), "counts": compressed(run_lengths(found.mask))} if rle else None
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": 1,
                "category_id": category,
                "segmentation": runs or _rings(found),
                "area": int(np.count_nonzero(found.mask)),
                "bbox": [columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1],
                "iscrowd": 0,
                **({} if found.score is None else {"score": found.score}),
            }
        )
    image = {"id": 1, "file_name": file_name, "width": shape[1], "height": shape[0]}
    return {"images": [image], "annotations": annotations, "categories": list(categories.values())}


def merged(documents: Iterable[dict]) -> dict:
    """One document of several, with new numbers of images and annotations; categories keep their numbers."""
    images: list[dict] = []
    annotations: list[dict] = []
    categories: dict = {}
    for one in documents:
        number_of = {}
        for image in one["images"]:
            number_of[image["id"]] = len(images) + 1
            images.append(image | {"id": len(images) + 1})
        for annotation in one["annotations"]:
            numbers = {"id": len(annotations) + 1, "image_id": number_of[annotation["image_id"]]}
            annotations.append(annotation | numbers)
        categories |= {category["id"]: category for category in one["categories"]}
    return {
        "images": images,
        "annotations": annotations,
        "categories": [categories[number] for number in sorted(categories)],
    }


def _rings(found: Annotation) -> list[list[int]]:
    """Coordinates x, y, x, y ... of a ring per part."""
    return [single_ring(polygon).ravel().tolist() for polygon in found.polygons]
