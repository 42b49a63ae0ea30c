"""Point matching by exact assignment, shared by flow, match and track."""
