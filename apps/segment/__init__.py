"""Cut objects out of images and volumes: `segment`, and `segment_labels` and `segment_volume` for several objects."""

from apps.common.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Objects": "apps.segment.multilabel",
        "Segmentation": "apps.segment.segmentation",
        "segment": "apps.segment.segmentation",
        "segment_labels": "apps.segment.multilabel",
        "segment_marked": "apps.segment.segmentation",
        "segment_volume": "apps.segment.multilabel",
    },
)
