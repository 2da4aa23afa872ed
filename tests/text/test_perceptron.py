from pathlib import Path

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_nltk_data import CLASSES

from coattend.text import nltk as nltk_data
from coattend.text.perceptron import Perceptron

FORMS = ["the", "The", "running", "1999", "42", "re-do", "-", "Wien", "''", "😀", "é", "", "ing"]
FEATURES = [
    "bias", "i suffix ing", "i suffix The", "i pref1 W", "i pref1 ", "i-1 tag DT", "i-1 tag -START-", "i-2 tag NN",
    "i-2 tag -START2-", "i tag+i-2 tag -START- -START2-", "i tag+i-2 tag NN DT", "i word the", "i word !YEAR",
    "i word !HYPHEN", "i-1 tag+i word DT !DIGITS", "i-1 word the", "i-1 suffix he", "i-2 word -START-", "i+1 word wien",
    "i+1 suffix ing", "i+1 word -END-", "i+2 word -END2-", "i+2 word é",
]  # fmt: skip
weight = st.integers(-3000, 3000).map(lambda thousandths: thousandths / 1000)
models = st.dictionaries(st.sampled_from(FEATURES), st.dictionaries(st.sampled_from([*CLASSES, "XX"]), weight))


def tags_of(nltk_tagger, sentences):
    return [[tag for _, tag in nltk_tagger.tag(forms)] for forms in sentences]


@settings(deadline=None)
@given(models, st.lists(st.lists(st.sampled_from(FORMS), max_size=12), max_size=5))
def test_it_tags_as_nltk_does(weights, sentences):
    weights = {"bias": {"NN": 0.1, "DT": 0.1}} | weights
    tagdict = {"Wien": "NNP"}
    nltk_tagger = nltk.tag.PerceptronTagger(load=False)
    nltk_tagger.decode_json_params((weights, tagdict, CLASSES))
    assert Perceptron(weights, tagdict, CLASSES).tag(sentences) == tags_of(nltk_tagger, sentences)


@pytest.mark.slow
def test_it_tags_as_nltk_does_with_the_published_weights():
    folder = nltk_data.find_package(nltk_data.TAGGER)
    if folder is None:
        pytest.skip("NLTK's tagger data is not at hand; set COATTEND_RAW or NLTK_DATA")
    nltk.data.path.append(str(folder))
    ours = Perceptron.load(nltk_data.open_package(folder, nltk_data.TAGGER))
    nltk_tagger = nltk.tag.PerceptronTagger(loc=str(Path(folder, nltk_data.TAGGER)))
    texts = (
        "The quick brown fox jumps over the lazy dog 's 1,000 re-used fences in 1999 .",
        "W : Would n't you rather have stayed at home , Mr. O'Neil ?",
        "`` Running late '' , she said , `` means that Tuesday 's meeting has begun . ''",
        "buffalo buffalo Buffalo buffalo that that is is that that is not is not",
    )
    sentences = [text.split() for text in texts]
    # More than are read side by side, most of them beside longer and shorter ones.
    sentences += [forms[:length] for forms in sentences for length in range(len(forms))] * 40
    assert ours.tag(sentences) == tags_of(nltk_tagger, sentences)
