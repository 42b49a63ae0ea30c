"""The inputs of a run: images, pairs of images and their companion files, found by the names and folders given."""

import os
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from apps.common.command import spelled
from apps.common.errors import InputError
from apps.common.file_kinds import IMAGES, is_image, stem_of
from apps.common.outputs import files_in, is_same_file


class Item(NamedTuple):
    """One input of a batch: the name of its results, its displayed name, and a function that finds its files.

    source   the video or stack, if the job contains frames of it
    """

    name: str
    shown: str
    job: Callable[[], object]
    source: Path | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """The path of an input, and what belongs to it, by option: files, boxes; others are left out."""

    image: Path
    files: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Paths of two images and, if known, of the ground truth."""

    first: Path
    second: Path
    truth: Path | None


def images_of(chosen: Namespace) -> tuple[list[Path], bool]:
    """The images of `chosen.image`, named or in a folder named, and whether to process them as a batch.

    Raises InputError for a folder without images or two images of the same name.
    """
    images = []
    for name in chosen.image:
        images += images_in(Path(name)) if os.path.isdir(name) else [Path(name)]
    check_unique_names(images, "image")
    return images, len(images) > 1 or os.path.isdir(chosen.image[0])


def job_of(chosen: Namespace, options: Iterable[str], image: Path) -> Job:
    """The job of an image; each of the options names a file, or a folder with a file of the image's name."""
    stem = stem_of(image)
    found = {option: companion_of(getattr(chosen, option), stem, spelled(option)) for option in options}
    return Job(image, {option: file for option, file in found.items() if file is not None})


def image_items(images: Iterable[Path], job: Callable[[Path], object]) -> list[Item]:
    """One item per image, with the job job(path)."""
    return [Item(stem_of(path), str(path), partial(job, path)) for path in images]


def images_in(folder: Path, argument: str = "image", minimum: int = 1, accepts=is_image) -> list[Path]:
    """The images of a folder, or the paths for which `accepts(path)`, in order of name.

    Raises InputError if there are fewer than `minimum`.
    """
    inside = [path for path in files_in(folder, argument) if accepts(path) and not path.name.startswith(".")]
    if len(inside) >= minimum:
        return inside
    if inside:
        raise InputError(f"{argument}: folder {str(folder)!r} holds one image; two or more are needed")
    needed = f"({', '.join(IMAGES[:5])}, ...)" if minimum == 1 else "; two or more are needed"
    raise InputError(f"{argument}: folder {str(folder)!r} holds no image{' ' * (minimum == 1)}{needed}")


def pair_items(given: dict[str, str], truth: str | None, name) -> tuple[list[Item], bool]:
    """One item per pair of two folders, paired by name, or the item of two images, and whether the inputs are folders.

    given   {option: image or folder}, two entries
    truth   ground truth, or a folder of them
    name    first and second image -> name of the results; the second is None for those of a folder

    Raises InputError, naming the arguments, for a folder and an image; the job of an image does without a partner.
    """
    arguments = tuple(given)
    one, other = map(Path, given.values())
    folders = one.is_dir(), other.is_dir()
    if folders[0] != folders[1]:
        folder, single = arguments if folders[0] else arguments[::-1]
        raise InputError(f"{folder} is a folder and {single} is not; pass two images or two folders")
    pairs: list[tuple[Path, Path | None]] = [(one, other)]
    if folders[0]:
        images = images_in(one, arguments[0])
        check_unique_names(images, arguments[0])
        pairs = [(path, None) for path in images]

    def job(first, second):
        second = companion_of(other, first.stem, arguments[1]) if second is None else second
        return Pair(first, second, companion_of(truth, first.stem, "--truth"))

    items = []
    for first, second in pairs:
        shown = str(first) if second is None else f"{first} | {second}"
        items.append(Item(name(first, second), shown, partial(job, first, second)))
    return items, folders[0]


def check_unique_names(inputs, argument: str) -> None:
    """Raise InputError if results, which are named after their inputs, would overwrite each other.

    `inputs` are paths, whose results are named after their stems, or the names of the results.
    """
    stems = [one if isinstance(one, str) else stem_of(one) for one in inputs]
    for stem, count in Counter(stems).items():
        if count > 1:
            raise InputError(
                f"{argument}: {count} inputs are named {stem!r}, and their results would overwrite each other; "
                "rename one, or run them separately"
            )


def check_out_is_not_input(folders, out, argument: str, option: str = "--out") -> None:
    """Raise InputError if results would be written among the frames or slices of an input."""
    for folder in folders:
        if os.path.isdir(folder) and is_same_file(Path(folder), Path(out)):
            raise InputError(
                f"{option}: {str(out)!r} is the folder of {argument} {str(folder)!r}, all of whose files are read as "
                "one input; choose another folder"
            )


def companion_of(given, stem: str, option: str) -> Path | None:
    """The file given, or the file with this stem in the folder given; None if `given` is None."""
    if given is None:
        return None
    if not os.path.isdir(given):
        return Path(given)
    return find_by_stem(given, stem, option)


def find_by_stem(folder, stem: str, name: str) -> Path:
    """The only file of a folder with this stem and any suffix; InputError unless there is exactly one."""
    named = (path for path in Path(folder).glob("*") if stem in (path.stem, stem_of(path)))
    found = sorted(path for path in named if path.is_file())
    if len(found) != 1:
        what = "has no file" if not found else f"has {len(found)} files"
        raise InputError(f"{name}: folder {str(folder)!r} {what} named {stem!r}; exactly one per image is required")
    return found[0]
