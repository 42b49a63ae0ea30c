"""GeoJSON of objects, as QuPath imports it: a feature per object, with its class and colour.

Coordinates are pixels of the upright image, x to the right and y down, from the upper left corner; outlines follow the
sides of pixels exactly (`apps.common.outlines`).  Outer rings are counter-clockwise in the sense of RFC 7946: their
signed area in x and y is positive.
"""

from collections.abc import Iterable

from apps.common.annotations import Annotation


def document(objects: Iterable[Annotation]) -> dict:
    """A FeatureCollection with a Polygon, or for several parts a MultiPolygon, for each object that has pixels."""
    features = [_feature(found) for found in objects if found.polygons]
    return {"type": "FeatureCollection", "features": features}


def _feature(found: Annotation) -> dict:
    parts = [[_closed(ring) for ring in (polygon.outer, *polygon.holes)] for polygon in found.polygons]
    if len(parts) == 1:
        geometry = {"type": "Polygon", "coordinates": parts[0]}
    else:
        geometry = {"type": "MultiPolygon", "coordinates": parts}
    return {
        "type": "Feature",
        "geometry": geometry,
        "properties": {
            "objectType": "annotation",
            "classification": {"name": found.name, "color": list(found.colour)},
        },
    }


def _closed(ring) -> list[list[int]]:
    corners = ring.tolist()
    return [*corners, corners[0]]
