"""What cannot be compared over a frozen encoder."""

from collections.abc import Iterator
from typing import Any

from coattend import readers
from coattend.parameters import ReaderParameters
from coattend.study import Study
from coattend.study_checks.problem import Problem

_EMBEDDINGS = ("tag_embedding", "hidden_tag_embedding")
_NOISE = ("tag_noise", "tag_noise_kind", "tag_noise_in")


def of_frozen(study: Study) -> Iterator[Problem]:
    """Variants that read other tags than the baseline, over an encoder whose embedding of tags stays at zero.

    The embedding is added to the frozen encoder's input, and so is frozen with it. The one that is added to its outputs
    (``hidden_tag_embedding``) is learned.
    """
    asked = study.parameters
    frozen = [name for name in asked.variants if _is_frozen(study, name)]
    if not frozen or asked.baseline not in asked.variants:
        return
    learned, read = _tags(study, asked.baseline)
    for name in frozen:
        own_learned, own_read = _tags(study, name)
        if own_read != read and not (learned or own_learned):
            what = (
                f"{name!r} reads other tags than {asked.baseline!r}, whose embedding stays at zero where it is frozen"
            )
            cure = "Take protocol: finetuned, or for all variants options: { tag_embedding: false } and the same tags"
            yield Problem(("variants", name, "change"), what, cure)


def _is_frozen(study: Study, variant: str) -> bool:
    elsewhere = any(one.get("frozen") for one in study.parameters.training.values())
    return bool(study.entry(variant)["training"].get("frozen", elsewhere))


def _tags(study: Study, variant: str) -> tuple[bool, Any]:
    """Whether a variant learns of tags all the same, and which ones it embeds."""
    reader = ReaderParameters.model_validate(study.entry(variant))
    embedded, learned = (
        bool(reader.options.get(option, readers.default_of(reader.reader, option))) for option in _EMBEDDINGS
    )
    noise = {field: reader.training.get(field) for field in _NOISE} if reader.training.get("tag_noise") else {}
    return learned, (reader.tagging, noise) if embedded else None
