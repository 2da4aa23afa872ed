"""A trained reader as a folder that needs nothing else: weights, recipe, tokenizer and tagger; nothing is pickled."""

import json
import shutil
from importlib.resources.abc import Traversable
from pathlib import Path

from coattend.answering import recipe as recipes
from coattend.answering.processing import NLTK, TOKENIZER, Processing
from coattend.text import nltk_data
from coattend.text.nltk_tagger import NltkTagger
from coattend.text.subwords import Subwords
from coattend.text.tokenizer_files import find, read


def pack(trial: Path, target: Path) -> None:
    """Copy a trained reader and all that stands between a text and it.

    Args:
        trial: The folder of a finished trial.
        target: A folder that is not there yet.

    Raises:
        CoattendError: If the trial has no recipe, or its tokenizer or tagger cannot be had.
    """
    recipe = recipes.read(trial)
    processing = Processing.of(recipe, trial)
    shutil.copytree(trial / "model", target / "model")
    recipes.write(recipe.without_credentials(), target)
    if processing.subwords is not None:
        _keep_tokenizer(processing.subwords, target / TOKENIZER)
    tagger = processing.tagger.tagger
    if isinstance(tagger, NltkTagger):
        english = nltk_data.opened(tagger.punkt, nltk_data.PUNKT) / "english"
        _copy(english, target / NLTK / nltk_data.PUNKT / "english")
        _copy(nltk_data.opened(tagger.tagger, nltk_data.TAGGER), target / NLTK / nltk_data.TAGGER)


def _keep_tokenizer(subwords: Subwords, target: Path) -> None:
    target.mkdir()
    read(find(subwords.source), subwords.source).save(str(target / "tokenizer.json"))
    pad = subwords.tokenizer.id_to_token(subwords.pad_id)
    (target / "tokenizer_config.json").write_text(json.dumps({"pad_token": pad}) + "\n")


def _copy(source: Traversable, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.iterdir():
        if file.is_file():
            (target / file.name).write_bytes(file.read_bytes())
