from .refinement import Refinement, refine

KINDS: tuple[str, ...]

__all__ = ["Refinement", "refine"]
