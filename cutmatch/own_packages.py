"""The packages of this distribution, where other projects have packages of the same names.

`apps`, `assign` and `matching` are ordinary words: many Django projects have a folder `apps/`.  A process has one
package of each name, so the first on the path hides the other.  The command is a process of its own and puts this
distribution first.  A library must not, because the project would then import our package instead of its own.  It
raises an error that names both folders.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]  # which holds the four packages
NEEDS = {
    "gridcut": ("gridcut",),
    "assign": ("gridcut", "assign"),
    "matching": ("gridcut", "matching"),
    "apps": ("gridcut", "assign", "matching", "apps"),
}


def put_first() -> None:
    """Let the names of the packages find those of this distribution; for a process that is ours alone.

    The standard library stays before them: their folder may also hold old copies of its modules, such as argparse.
    """
    standard = os.path.dirname(os.__file__)
    first = [part for part in (standard, os.path.join(standard, "lib-dynload")) if part in sys.path] + [str(FOLDER)]
    sys.path[:] = [*first, *(part for part in sys.path if part not in first)]


def check_own(package: str, wanted: str) -> None:
    """Raise ImportError if `package`, or one that it imports, would be another project's."""
    for name in NEEDS[package]:
        try:
            spec = find_spec(name)
        except ValueError:  # a module that something else than an import has put into sys.modules
            found = getattr(sys.modules[name], "__file__", None) or "a module without a file"
        else:
            if spec is None:
                continue  # the import says so
            found = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        if Path(found).resolve() != FOLDER / name / "__init__.py":
            raise ImportError(
                f"{wanted} needs the package {name} in {FOLDER}, but {found} has the same name and comes first; "
                "rename it or remove its folder from the path, or use cutmatch in another process",
                name=name,
            )
