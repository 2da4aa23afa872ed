"""Options of the encoders. Nothing here imports torch."""

from typing import ClassVar, Literal

from pydantic import Field

from coattend.readers.interfaces import STREAMS, EncoderConfig

CHARACTERS = "characters"
"""Source of the untrained encoder over characters, and of the tokenizer whose ids it reads."""


class TransformerConfig(EncoderConfig):
    """Options of the transformer encoder."""

    output_fields: ClassVar = STREAMS | {"summary"}

    dropout: float | None = Field(
        None, ge=0, lt=1, description="Dropout of hidden states and attention; null: as the encoder has it."
    )
    encoder_layers: int | None = Field(None, ge=1, description="So many of its first layers alone; null: all.")
    tag_embedding: bool = Field(False, description="Whether to add an embedding of part-of-speech tags.")
    hidden_tag_embedding: bool = Field(
        False, description="Whether to add another embedding of tags to the encoder's vectors."
    )
    co_attention: bool = Field(
        False,
        description="Whether its layers co-attend: passage tokens look at question tokens alone and back, and those"
        " with a sliding window too at the whole other side.",
    )
    tag_count: int = Field(39, ge=2, description="Tags with PAD, SPE and ERR: 39, or 48 with punctuation's own.")
    attention: Literal["causal", "bidirectional"] | None = Field(
        None,
        description="Of a decoder such as Llama: causal: tokens see those before them, so that a passage does not see"
        " its question; bidirectional: all; null: as the model has it. Encoders are bidirectional.",
    )
    passage: Literal["joint", "apart"] = Field(
        "joint",
        description="joint: passage, question and option are one sequence; apart: a passage is read once, by itself,"
        " for all of its questions.",
    )
    apart_layers: int | None = Field(
        None,
        ge=0,
        description="With passage: apart, the first layers that read it so, as later ones read sequences; null: all.",
    )
    segments: Literal["reads", "blind"] = Field(
        "reads",
        description="With passage: apart, reads: question and option see the passage in those layers; blind: they see"
        " themselves alone.",
    )

    @property
    def apart_to_the_end(self) -> bool:
        """True if no layer lets the passage see the question."""
        return self.passage == "apart" and self.apart_layers is None

    def provides(self) -> frozenset[str]:
        """Both streams, and the summary where [CLS] has seen the question."""
        return STREAMS if self.apart_to_the_end else self.output_fields

    def aware(self) -> frozenset[str]:
        """Both streams, unless the passage is read apart in all layers, or by a decoder before its question."""
        if self.attention == "causal":
            return frozenset({"question"})
        if not self.apart_to_the_end:
            return STREAMS
        return frozenset({"question"} if self.segments == "reads" else ())


class RecurrentConfig(EncoderConfig):
    """Options of the recurrent encoder."""

    output_fields: ClassVar = STREAMS

    cell: Literal["gru", "lstm"] = Field("gru", description="gru or lstm.")
    hidden: int = Field(128, ge=1, description="Width of the state of each direction.")
    directions: Literal[1, 2] = Field(2, description="2: the layer reads from both ends.")
    shared: bool = Field(False, description="Whether one layer reads passage and question.")
    # Word vectors.
    vectors: Literal["encoder", "file", "random"] = Field(
        "encoder", description="encoder: the mean of the pretrained encoder's input rows of a word's pieces."
    )
    vectors_file: str | None = Field(None, description="File of vectors, as GloVe's; for vectors: file.")
    vector_spread: float = Field(
        1.0, gt=0, description="Root mean square of vectors' numbers; those of a file stay as they are."
    )
    vector_width: int = Field(128, ge=1, description="Width of random vectors.")
    train_vectors: bool = Field(False, description="Whether vectors are trained; else they stay as they are.")
    most_words: int | None = Field(
        50_000, ge=1, description="Most words of the vocabulary, the most frequent ones; null: all of the training's."
    )
    lowercase: bool = Field(True, description="Whether words are looked up in lower case.")
    # Features that are concatenated with a word's vector.
    character_width: int = Field(0, ge=0, description="Width of character n-gram vectors; 0: none.")
    tag_embedding: bool = Field(False, description="Whether to add an embedding of part-of-speech tags.")
    tag_count: int = Field(39, ge=2, description="Tags with PAD, SPE and ERR: 39, or 48 with punctuation's own.")
    tag_width: int = Field(16, ge=1, description="Width of the embedding of tags.")
    context: bool = Field(False, description="Whether to add vectors from the pretrained encoder, frozen.")
    word_dropout: float = Field(0.0, ge=0, lt=1, description="Share of the passage's words that become zero.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout of what the layer reads.")


class LanguageModelConfig(EncoderConfig):
    """Options of a language model that is used as it is."""

    output_fields: ClassVar = frozenset({"likelihood"})

    model: str | None = Field(
        None, description="Folder or Hugging Face name of a decoder-only language model; none comes with this package."
    )
    shots: int = Field(
        0, ge=0, le=100, description="Training questions with their answers that stand before each question."
    )
    chat_template: bool = Field(
        False, description="Whether questions are put as messages of a user, as instruction models were trained."
    )


CONFIGS: dict[str, type[EncoderConfig]] = {"transformer": TransformerConfig, "recurrent": RecurrentConfig}
"""Options of each encoder, by the name of its module."""

UNTRAINED: dict[str, type[EncoderConfig]] = {"language_model": LanguageModelConfig}
"""Likewise of those that are not trained: they are no torch module and fit no interaction."""
