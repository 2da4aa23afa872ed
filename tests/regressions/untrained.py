"""Small readers with random weights that answer as trained ones do: the answers mean nothing, but must be whole."""

from typing import Any, Literal

import torch
from transformers import BertConfig

from coattend import readers
from coattend.config import Limits, TaggingParameters, TokenizerParameters, TrainingParameters
from coattend.readers.encoders.word_embeddings import Words
from coattend.serving.predictor import Predictor
from coattend.serving.preprocessor import Preprocessor
from coattend.text.tagging import load_tagger
from coattend.text.tokenizer import load_tokenizer, special_layout
from coattend.trials.run_spec import RunSpec

TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
TAGGING = TaggingParameters(tagger="textblob")


def answerer(task: Literal["options", "span", "word"], limits: Limits) -> Predictor:
    """Build a reader of one task.

    Args:
        task: Its task.
        limits: Sizes of the questions that it takes.
    """
    torch.manual_seed(0)
    name = "as_reader" if task == "word" else "plain"
    subwords = None if task == "word" else load_tokenizer(TokenizerParameters())
    encoder: Any = Words(words=("lamp", "hall"), width=8)
    if subwords is not None:
        encoder = BertConfig(vocab_size=subwords.tokenizer.get_vocab_size(), max_position_embeddings=128, **TINY)
    reader = readers.build(name, encoder=encoder, head=task)
    tagger = load_tagger(TAGGING)
    spec = RunSpec(
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
        tokenizer_profile="minilm",
        reads_words=subwords is None,
        tagging=TAGGING,
        tagging_profile="textblob",
        tagger=tagger.name,
        fill_blanks=False,
        words_as_options=False,
        training=TrainingParameters(max_length=128, stride=32, max_answer_length=20),
        null_threshold=0.0 if task == "span" else None,
    )
    layout = None if subwords is None else special_layout(subwords)
    return Predictor(spec, reader, Preprocessor(spec, tagger, subwords, layout), limits)
