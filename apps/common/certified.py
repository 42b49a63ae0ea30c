"""Base of the results of programs that keep the solver's results they are from."""

from typing import Any


class Certified:
    """A result whose `solved` is a result of a solver, or a tuple of these."""

    __slots__ = ()
    solved: Any

    def check(self) -> None:
        """Certify what was solved.

        Raises
        ------
        CertificateError
            If a cut is not minimal, or a move of a labelling lowers its energy.
        """
        for one in self.solved if isinstance(self.solved, tuple) else (self.solved,):
            one.check()
