from .session import Session, SessionResult

__all__ = ["Session", "SessionResult"]
