"""Data of a release that no other catalog replaces: pinned versions, images of charts, environment of fabrics."""
