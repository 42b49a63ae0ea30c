"""TrackMate's files: its XML file, read and written, and the CSV file of spots that it exports, read.

    <TrackMate>
      <Model>
        <AllSpots>        <SpotsInFrame> per frame, <Spot> per detection: ID, FRAME, POSITION_X, ...
        <AllTracks>       <Track> per track, together with its daughters if cells divide; <Edge> per link
        <FilteredTracks>  the tracks that are shown
      <Settings>          filters of spots, which remove none here

The CSV file has the same columns, and below its header up to three rows with other names and units.

[1] Ershov et al. "TrackMate 7: integrating state-of-the-art segmentation algorithms into tracking pipelines." Nature
Methods 19, 2022.
"""

from xml.etree import ElementTree

import numpy as np

COLUMNS = ("frame", "position_x", "position_y", "position_z")
UNIT_ROWS = 3
DIMENSIONS = {"POSITION_T": "TIME", "FRAME": "NONE", "QUALITY": "QUALITY", "RADIUS": "LENGTH", "VISIBILITY": "NONE"}


def spot_lines(text: str) -> list:
    """The spots of an XML file as lines (number, cells) of a table with a header; raises ElementTree.ParseError."""
    spots = [spot.attrib for spot in ElementTree.fromstring(text).iter("Spot")]
    names = list(dict.fromkeys(name for spot in spots for name in spot))
    return list(enumerate([names, *([spot.get(name, "") for name in names] for spot in spots)])) if spots else []


def without_units(lines: list, frame: int) -> list:
    """The lines of a table without those of names and units, which have no number in the column `frame`."""
    head = [line for line in lines[1 : 1 + UNIT_ROWS] if "".join(line[1][frame : frame + 1]).strip()[:1].isdigit()]
    return [lines[0], *head, *lines[1 + UNIT_ROWS :]]


def xml_of(columns: dict) -> bytes:
    """The XML file of a table of tracks (`columns_of`), in pixels and frames; quality and radius are 1 by default."""
    track, frame, one = columns["track"], columns["frame"], np.ones(len(columns["track"]), np.int64)
    features = {f"POSITION_{axis.upper()}": columns.get(axis, 0.0 * one) for axis in "xyz"}
    features |= {"POSITION_T": 1.0 * frame, "FRAME": frame, "VISIBILITY": one}
    for name in ("quality", "radius"):
        values = columns.get(name, one)
        features[name.upper()] = 1.0 * (values if values.dtype.kind in "iuf" else one)
    root = ElementTree.Element("TrackMate", version="7.0.0")
    model = _add(root, "Model", spatialunits="pixel", timeunits="frame")
    declared = _add(_add(model, "FeatureDeclarations"), "SpotFeatures")
    for name, values in features.items():
        what = {"dimension": DIMENSIONS.get(name, "POSITION"), "isint": str(values.dtype.kind != "f").lower()}
        _add(declared, "Feature", feature=name, name=name, shortname=name, **what)
    all_spots = _add(model, "AllSpots", nspots=len(track))
    order = np.argsort(frame, kind="stable")
    for spots in np.split(order, 1 + np.flatnonzero(np.diff(frame[order]))):
        of_frame = _add(all_spots, "SpotsInFrame", frame=frame[spots[0]])
        for k in spots:
            _add(of_frame, "Spot", ID=k, name=k, **{name: values[k] for name, values in features.items()})

    # Rows are sorted by track and frame.
    starts, ends = np.flatnonzero(np.diff(track, prepend=-1)), np.flatnonzero(np.diff(track, append=-1))
    mother = columns.get("parent", -one)[starts]
    family = np.arange(len(starts))
    before = np.arange(len(track)) - 1
    before[starts] = np.where(mother >= 0, ends[mother], -1)
    all_tracks, shown, by_family = _add(model, "AllTracks"), _add(model, "FilteredTracks"), {}
    for daughter in np.flatnonzero(mother >= 0):  # a mother has a smaller number
        family[daughter] = family[mother[daughter]]
    for k in np.flatnonzero(before >= 0):
        number = int(family[track[k]])
        if number not in by_family:
            by_family[number] = _add(all_tracks, "Track", name=f"Track_{number}", TRACK_ID=number)
            _add(shown, "TrackID", TRACK_ID=number)
        edge = {"SPOT_SOURCE_ID": before[k], "SPOT_TARGET_ID": k, "EDGE_TIME": (frame[before[k]] + frame[k]) / 2}
        _add(by_family[number], "Edge", **edge)
    settings = _add(root, "Settings")
    _add(settings, "InitialSpotFilter", feature="QUALITY", value=features["QUALITY"].min() - 1, isabove="true")
    _add(settings, "SpotFilterCollection")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)


def _add(parent, tag: str, **attributes):
    return ElementTree.SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})
