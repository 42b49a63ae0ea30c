"""An interactor of CVAT: the handler of a serverless function of nuclio, which runs in the function's container.

CVAT posts an image in base64, points on the object and on the background, and maybe a box as two corners.  The answer
is a mask, rows of 0 and 1, or an error.  docs/guide/annotation-tools.md shows the function's configuration.

https://docs.cvat.ai/docs/guides/serverless-tutorial/
"""

import json
from functools import partial
from hashlib import sha256

from apps.app.image_sources import decoded_image
from apps.app.prompts import Mark, PromptSessions, box_of, decode_file, points_of, read_json
from apps.common.errors import is_defect, reason_of

_prompts = PromptSessions("auto")


def handler(context, event):
    """Answer a request; nuclio calls this function, with the body as bytes or decoded."""
    try:
        body = event.body if isinstance(event.body, dict) else read_json(event.body)
        status, answer = 200, find_mask(body)
    except Exception as error:
        status, answer = 500 if is_defect(error) else 400, {"error": reason_of(error)}
    return context.Response(body=json.dumps(answer), headers={}, content_type="application/json", status_code=status)


def find_mask(body: dict) -> dict:
    """The mask of a request; InputError for one that cannot be used."""
    data, marks = decode_file(body.get("image"), "image"), []
    if box := body.get("obj_bbox"):
        marks.append(Mark("box", box_of([one for corner in points_of(box, "obj_bbox") for one in corner])))
    for name, label in (("pos_points", 1), ("neg_points", 0)):
        marks += [Mark("stroke", (point,), label) for point in points_of(body.get(name) or [], name)]
    _, labels = _prompts.find_labels(
        sha256(data).digest(), partial(decoded_image, data, "'image'"), lambda shape: marks
    )
    return {"mask": (labels > 0).astype(int).tolist()}
