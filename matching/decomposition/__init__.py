"""Consequences of a maximum matching: the Dulmage-Mendelsohn decomposition."""
