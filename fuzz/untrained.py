"""Small readers with random weights, asked as trained ones are: what they answer means nothing, and has to be whole."""

from typing import Any, Literal

import torch
from transformers import BertConfig

from coattend import readers
from coattend.answering.answerer import Answerer
from coattend.answering.processing import Processing
from coattend.answering.recipe import Recipe
from coattend.parameters import Limits, TaggingParameters, TokenizerParameters
from coattend.readers.encoders.words import Words
from coattend.text.subwords import load_tokenizer, special_layout
from coattend.text.tagging import resolve

TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TAGGING = TaggingParameters(tagger="textblob")


def answerer(task: Literal["options", "span", "word"], limits: Limits) -> Answerer:
    """A reader of one task.

    Args:
        task: What is asked of it.
        limits: What may be asked.
    """
    torch.manual_seed(0)
    name = "as_reader" if task == "word" else "plain"
    subwords = None if task == "word" else load_tokenizer(TokenizerParameters())
    encoder: Any = Words(words=("lamp", "hall"), width=8)
    if subwords is not None:
        encoder = BertConfig(vocab_size=subwords.tokenizer.get_vocab_size(), max_position_embeddings=128, **TINY)
    reader = readers.build(name, encoder=encoder, head=task)
    tagger = resolve(TAGGING)
    recipe = Recipe(
        trial_id="untrained",
        name=name,
        benchmark="given",
        title="Given",
        task=task,
        reader=name,
        head=task,
        options=reader.config.options,
        encoder="embedded",
        tokenizer="" if subwords is None else subwords.digest,
        reads_words=subwords is None,
        tagging=TAGGING,
        tagger=tagger.name,
        fill_blanks=False,
        words_as_options=False,
        max_length=128,
        stride=32,
        stride_counts="overlap",
        max_answer_length=20,
        null_threshold=0.0 if task == "span" else None,
    )
    layout = None if subwords is None else special_layout(subwords)
    return Answerer(recipe, reader, Processing(recipe, tagger, subwords, layout), limits)
