"""Names of a package that are imported on first use (PEP 562)."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attach(package: str, module_of: Mapping[str, str]) -> tuple[Callable, Callable, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names are defined in its modules.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    module_of : Mapping of str to str
        Module that defines each public name.  No module of the package may have one of these names: importing it
        would replace the function of that name.

    Examples
    --------
    In a package's `__init__.py`::

        __getattr__, __dir__, __all__ = attach(__name__, {"denoise": "apps.denoise.restoration"})
    """

    def __getattr__(name: str):
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)  # found directly from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return __getattr__, __dir__, sorted(module_of)
