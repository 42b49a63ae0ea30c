"""The state of a `Solver` between solves: on the CPU and on a GPU."""
