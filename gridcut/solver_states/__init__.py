"""The state of a `Solver` between solves: on the CPU, on the CPU for small grids of integers, and on a GPU."""
