"""Multi-label energies: descent by expansions and swaps, exact convex minima, total variation, roof duality."""
