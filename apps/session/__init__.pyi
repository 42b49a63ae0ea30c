from .interactive import Session
from .session_result import SessionResult

__all__ = ["Session", "SessionResult"]
