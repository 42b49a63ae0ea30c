"""Packages that can be called: `apps.segment` is both the package of the program and its main function.

The import system sets `apps.segment` to the package whenever a module below it is imported.  A function of that name in
`apps` would therefore be replaced sooner or later, depending on the order of imports.  So the package itself is the
object that is called: its class has `__call__`, which loads the function on first use.
"""

import sys
from importlib import import_module
from types import ModuleType


class CallableModule(ModuleType):
    """A package that is called like one of its functions, `function_name`."""

    function_name: str

    def __call__(self, *args, **kwargs):
        """Call the main function of the package; its docstring has the parameters."""
        return getattr(self, self.function_name)(*args, **kwargs)

    @property
    def __signature__(self):
        """The signature of the function, for `inspect.signature` and `help`."""
        from inspect import signature

        return signature(getattr(self, self.function_name))

    def __reduce__(self):
        """Pickle by name, as functions are, so that other processes can be passed the package to call."""
        return import_module, (self.__name__,)


def make_callable(package: str, function_name: str) -> None:
    """Make a package callable, while it is imported; the function may be one that it loads on first use."""
    module = sys.modules[package]
    module.__class__ = CallableModule
    vars(module)["function_name"] = function_name
