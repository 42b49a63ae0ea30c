"""PyMaxflow's classes and SciPy's maximum flow, to be used by changing one import line."""
