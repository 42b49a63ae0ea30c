"""A server with the protocol of nnInteractive, version 2, that answers with exact cuts of `apps.Session`.

server      addresses, and the command
leases      the sessions of clients, and how long they stay
prompts     points, boxes, scribbles, lassos and masks on a volume
paths       a mask of a slice as strokes
arrays      arrays as nnInteractive's client sends them
"""
