"""Reading of COCO annotations, by the images they belong to."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from apps.common.errors import InputError
from apps.common.images import read_bytes
from apps.common.stems import stem_of


def read_json(path: Path, option: str):
    """The content of a JSON file, None if it is not JSON; InputError if it cannot be read."""
    data = read_bytes(path, option)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def is_coco(content) -> bool:
    """Whether the content of a JSON file is that of COCO annotations."""
    return isinstance(content, dict) and isinstance(content.get("annotations"), list)


def annotated_images(content: dict, name: str) -> dict[str, tuple[dict, list[dict]]]:
    """Entry and annotations of every image, by the last part of its file name; InputError names the file `name`."""
    images = content.get("images")
    if not isinstance(images, list) or not all(
        isinstance(one, dict) and isinstance(one.get("file_name"), str) and is_key(one.get("id")) for one in images
    ):
        raise InputError(f"{name} is COCO without images; each needs an id and a file_name")
    table: dict[str, tuple[dict, list[dict]]] = {}
    name_of = {}
    for one in images:
        name_of[one["id"]] = key = last_part(one["file_name"])
        if key in table:
            raise InputError(f"{name} has two images {key!r}; split it by folder")
        table[key] = one, []
    for one in content["annotations"]:
        number = one.get("image_id") if isinstance(one, dict) else None
        if not is_key(number) or number not in name_of:
            raise InputError(f"{name} has an annotation of no image: {json.dumps(one)[:60]}")
        table[name_of[number]][1].append(one)
    return table


def keys_of(table: Mapping[str, object], images: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Images and the names of their entries in a table: the same, or one of this stem; images without are left out."""
    by_stem: dict[str, list[str]] = {}
    for key in table:
        by_stem.setdefault(stem_of(Path(key)), []).append(key)
    for image in images:
        stem = stem_of(image)
        same = [key for key in (image.name, stem) if key in table] or by_stem.get(stem, [])
        if stem.isdecimal() and not same:  # an image_id; names of COCO's images have 12 digits
            same = by_stem.get(str(int(stem)), [])
        if same:
            yield image, same[0]


def is_key(value) -> bool:
    """Whether a value can be the number or the name of an image or a category."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def last_part(text: str) -> str:
    """The name of a file, of which another system may have written the path."""
    return text.replace("\\", "/").rsplit("/", 1)[-1]
