"""How text becomes words, tags and pieces of words."""

from typing import Literal

from pydantic import Field

from coattend.parameters.strict import Parameters


class TaggingParameters(Parameters):
    """A profile of word tokens and POS tags."""

    tagger: Literal["nltk", "textblob", "auto"] = Field(
        "auto", description="auto: NLTK's perceptron tagger, or textblob's lexicon where its data cannot be had."
    )
    tagset: Literal["penn", "extended"] = Field(
        "penn", description="penn: 36 tags, punctuation is ERR; extended: punctuation has its own tags."
    )
    lowercase_before_tagging: bool = Field(False, description="As the POI-Net release does; it loses proper nouns.")


class TokenizerParameters(Parameters):
    """A profile of subword tokens."""

    source: str = Field("embedded", description="'embedded' (MiniLM), a folder, or a Hugging Face name.")
