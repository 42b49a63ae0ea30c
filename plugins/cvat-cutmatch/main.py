"""The file in which nuclio looks for the handler."""

from cvat_cutmatch.interactor import handler  # noqa: F401
