"""The entry points by which networkx finds the backend, as pyproject.toml declares them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def write_entries(folder: Path) -> Path:
    """A folder for the path of a process, before an installed distribution, which it then hides."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    lines = [f"[{group}]\n{name} = {value}\n" for group in declared for name, value in declared[group].items()]
    metadata = folder / "cutmatch-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: cutmatch\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return folder
