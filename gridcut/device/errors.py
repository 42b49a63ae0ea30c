"""The one error of all certificates."""


class CertificateError(RuntimeError):
    """A result that its certificate refutes: a defect in cutmatch, or arrays changed since the solve.

    Every `check()` of `gridcut`, `assign`, `matching` and `apps` raises this class.
    """
