"""An interactor of CVAT that asks `cutmatch app --api` for masks.

interactor   the handler of the serverless function, and the request that it sends
"""
