"""Assignment solvers on the CPU, one algorithm a file or folder; each exports solve(cost, ...)."""
