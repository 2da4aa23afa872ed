"""Our fast form of NLTK's tagger beside NLTK itself, token for token, on real benchmarks."""

import nltk
import pytest

from coattend.benchmarks import dream, race
from coattend.benchmarks.archives import members
from coattend.parameters import TaggingParameters
from coattend.text import nltk_data
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
            found |= dict.fromkeys((question.question, *question.options))
    return list(found)


def compare(texts: list[str]) -> int:
    """How many words were compared; every difference is a failure."""
    tagger = resolve(TaggingParameters(tagger="nltk", tagset="extended"))
    names = {name: number for number, name in enumerate(tagger.tagset.names)}
    words = 0
    for text in texts:
        ours = tagger(text)
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
