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
    if asked.baseline not in asked.variants:
        return
    baseline = _tags(study, asked.baseline)
    for name in asked.variants:
        own = _tags(study, name)
        if own["frozen"] and not (own["learned"] or baseline["learned"]) and own["read"] != baseline["read"]:
            what = (
                f"{name!r} reads other tags than {asked.baseline!r}, whose embedding stays at zero where it is frozen"
            )
            cure = "Take protocol: finetuned, or for all variants options: { tag_embedding: false } and the same tags"
            yield Problem(("variants", name, "change"), what, cure)


def _tags(study: Study, variant: str) -> dict[str, Any]:
    """Whether a variant's encoder is frozen, whether its tags are learned all the same, and which ones it reads."""
    reader = ReaderParameters.model_validate(study.entry(variant))
    options = {name: reader.options.get(name, readers.default_of(reader.reader, name)) or False for name in _EMBEDDINGS}
    noise = {field: reader.training.get(field) for field in _NOISE} if reader.training.get("tag_noise") else {}
    embedded, learned = options.values()
    frozen = reader.training.get("frozen", any(one.get("frozen") for one in study.parameters.training.values()))
    return {"frozen": frozen, "learned": learned, "read": (reader.tagging, noise) if embedded else None}
