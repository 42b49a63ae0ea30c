"""Maximum-flow solvers on the CPU, one algorithm a file; each exports solve(excess, residual, step, ...)."""
