"""The error that all certificates raise."""


class CertificateError(RuntimeError):
    """Raised when a result fails its certificate: a defect in cutmatch, or arrays modified since the solve.

    Every `check()` of `gridcut`, `assign`, `matching` and `apps` raises this class.
    """
