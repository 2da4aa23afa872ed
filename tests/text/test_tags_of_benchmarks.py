"""Our fast form of NLTK's tagger beside NLTK itself, token for token, on real benchmarks."""

from itertools import islice

import nltk
import pytest

from coattend.benchmarks import dream, race, squad
from coattend.benchmarks.archives import members
from coattend.parameters import TaggingParameters
from coattend.text import nltk_data, treebank
from coattend.text.tagging import resolve


def nltks(text: str, names: dict[str, int]) -> list[tuple[str, int]]:
    """Words and tag ids as NLTK's own functions give them; sentences end at the ends of lines."""
    return [
        ('"' if form in ("``", "''") else form, names.get(tag, names["ERR"]))
        for line in text.splitlines()
        for sentence in nltk.sent_tokenize(line)
        for form, tag in nltk.pos_tag(nltk.word_tokenize(sentence, preserve_line=True))
    ]


def texts_of(records) -> list[str]:
    found = {}
    for record in records:
        found[record.text] = None
        for question in record.questions:
            found |= dict.fromkeys((question.question, *(question.options or ())))
    return list(found)


def compare(texts: list[str]) -> int:
    """How many words were compared; every difference is a failure."""
    tagger = resolve(TaggingParameters(tagger="nltk", tagset="extended"))
    names = {name: number for number, name in enumerate(tagger.tagset.names)}
    words = 0
    for text, ours in zip(texts, tagger.many(texts), strict=True):
        forms = [text[start:end] for start, end in zip(ours.starts, ours.ends, strict=True)]
        plain = ['"' if form in ("``", "''", '"') else form for form in forms]
        assert list(zip(plain, ours.tag_ids, strict=True)) == nltks(text, names)
        words += len(plain)
    return words


@pytest.fixture(autouse=True)
def nltk_finds_its_data(raw, monkeypatch):
    folders = [str(nltk_data.find(package)) for package in nltk_data.PACKAGES]
    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, *folders])


@pytest.mark.slow
def test_all_of_dream(raw):
    records = [
        record
        for split in ("train", "dev")
        for record in dream.read(raw / "dream" / f"{split}.json", max_characters=9**9)
    ]
    assert compare(texts_of(records)) > 500_000


@pytest.mark.slow
def test_a_slice_of_race(raw):
    """Every 40th passage with its questions."""
    archive = raw / "race" / "RACE.tar.gz"
    files = (member for member in members(archive) if member.name.endswith(".txt"))
    records = [
        record
        for number, member in enumerate(files)
        if number % 40 == 0
        for record in race.read(member, max_characters=9**9)
    ]
    assert compare(texts_of(records)) > 250_000


def first_records(raw, benchmark: str):
    """Those of the beginning of a benchmark's training files."""
    if benchmark == "dream":
        return dream.read(raw / "dream" / "train.json", max_characters=9**9)
    if benchmark == "race":
        files = (member for member in members(raw / "race" / "RACE.tar.gz") if member.name.endswith(".txt"))
        return (record for member in files for record in race.read(member, max_characters=9**9))
    files = sorted((raw / "squad").glob("train-v2.0*.json"))
    return (record for file in files for record in squad.read(file, max_characters=9**9))


@pytest.mark.parametrize("benchmark", ["race", "dream", "squad"])
def test_words_of_some_thousand_sentences(raw, benchmark):
    theirs = nltk.tokenize.NLTKWordTokenizer()
    texts = texts_of(islice(first_records(raw, benchmark), 150))
    sentences = {sentence for text in texts for line in text.splitlines() for sentence in nltk.sent_tokenize(line)}
    assert len(sentences) > 1_000
    assert [one for one in sentences if treebank.forms(one) != theirs.tokenize(one)] == []
