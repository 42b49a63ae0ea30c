"""Point matching by exact assignment, shared by flow, match and track."""

LINKERS = ("assignment", "greedy", "mutual", "nearest", "cardinality", "bottleneck")
