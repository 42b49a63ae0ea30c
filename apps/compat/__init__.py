"""OpenCV's grabCut, to be used by changing one import line."""
