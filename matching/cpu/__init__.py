"""Solvers and initial matchings on the CPU: one algorithm a file, all with the same arrays and counts."""
