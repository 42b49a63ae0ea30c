"""An ML backend of Label Studio that asks `cutmatch app --api` for masks.

backend       the server, and its command
predictions   a request of Label Studio, the strokes and boxes in it, and the answer
brush         the run-length code of a brush region
masks         the request to `cutmatch app --api`
"""
