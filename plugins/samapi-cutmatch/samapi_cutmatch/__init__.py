"""A server that answers QuPath's SAM extension (qupath-extension-sam) with exact cuts of `apps.Session`."""
