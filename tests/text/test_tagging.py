import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import nltk
import pytest
from hypothesis import given, settings
from strategies import texts

from coattend.config import TaggingParameters
from coattend.errors import CoattendError
from coattend.text import nltk as nltk_data
from coattend.text.tagging import REMEMBERED, RememberingTagger, load_named_tagger, load_tagger
from coattend.text.tagset import ERR, tagset
from coattend.text.textblob import TextblobTagger


def tagged(tagger, text):
    words = tagger(text)
    names = tagger.tagset.names
    return [
        (text[start:end], names[tag]) for start, end, tag in zip(words.starts, words.ends, words.tag_ids, strict=True)
    ]


def tags_of(tagger, text):
    return [tag for _, tag in tagged(tagger, text)]


def test_nltk_tags_in_the_original_case_sentence_by_sentence(nltk_folder):
    tagger = load_tagger(TaggingParameters(tagger="nltk", tagset="extended"))
    assert tagger.name == "nltk averaged_perceptron_tagger_eng"
    assert tagged(tagger, "Dr. Wu is singing. Wu") == [
        ("Dr.", "NN"), ("Wu", "NNP"), ("is", "VBZ"), ("singing", "VBG"), (".", "."), ("Wu", "NNP")
    ]  # fmt: skip


def test_auto_takes_nltk_where_its_data_is_at_hand(nltk_folder, caplog):
    with caplog.at_level(logging.WARNING):
        assert load_tagger(TaggingParameters()).name.startswith("nltk")
    assert not caplog.records


def test_lower_casing_loses_names_but_no_place(nltk_folder):
    cased = load_tagger(TaggingParameters(tagger="nltk"))
    lowered = load_tagger(TaggingParameters(tagger="nltk", lowercase_before_tagging=True))
    text = "The İ Wu"
    assert tags_of(cased, text)[-1] == "NNP"
    assert tags_of(lowered, text)[-1] != "NNP"
    assert lowered(text).starts == cased(text).starts


def test_the_digest_knows_data_and_settings(nltk_folder):
    before = load_tagger(TaggingParameters(tagger="nltk")).digest
    assert load_tagger(TaggingParameters(tagger="nltk")).digest == before
    variants = [
        load_tagger(TaggingParameters(tagger="nltk", lowercase_before_tagging=True)).digest,
        load_tagger(TaggingParameters(tagger="nltk", tagset="extended")).digest,
        load_tagger(TaggingParameters(tagger="textblob")).digest,
    ]
    file = nltk_folder / "tokenizers/punkt_tab/english/abbrev_types.txt"
    file.write_text("dr\nmrs\n")
    variants.append(load_tagger(TaggingParameters(tagger="nltk")).digest)
    assert len({before, *variants}) == 5


def test_a_tagger_travels_to_other_processes(nltk_folder):
    tagger = load_tagger(TaggingParameters(tagger="nltk"))
    again = pickle.loads(pickle.dumps(tagger))
    assert again == tagger
    assert again("Wu is the Wu.") == tagger("Wu is the Wu.")


def test_data_of_links_is_read(nltk_folder, tmp_path, monkeypatch):
    """As in the cache of the Hugging Face Hub, whose files lie elsewhere, named by their digests."""
    text = "Dr. Wu is singing. Wu is the Wu."
    before = load_tagger(TaggingParameters(tagger="nltk"))(text)
    linked = nltk_folder.rename(tmp_path / "linked")
    for number, file in enumerate([file for file in linked.rglob("*") if file.is_file()]):
        file.symlink_to(file.rename(tmp_path / f"blob_{number}"))
    monkeypatch.setenv("NLTK_DATA", str(linked))
    assert load_tagger(TaggingParameters(tagger="nltk"))(text) == before


@pytest.mark.parametrize("damage", ["", "{", '{"bias": 3}'])
def test_data_that_is_not_whole_is_named_with_its_cure(nltk_folder, damage):
    file = nltk_folder / "taggers/averaged_perceptron_tagger_eng/averaged_perceptron_tagger_eng.weights.json"
    file.write_text(damage)
    with pytest.raises(CoattendError, match=r"averaged_perceptron_tagger_eng: is not whole.*nltk\.downloader"):
        load_tagger(TaggingParameters(tagger="nltk"))("Hello")


def test_a_missing_punkt_file_is_named_with_its_cure(nltk_folder):
    (nltk_folder / "tokenizers/punkt_tab/english/abbrev_types.txt").unlink()
    with pytest.raises(CoattendError, match="punkt_tab: is not whole"):
        load_tagger(TaggingParameters(tagger="nltk"))("Hello")


def test_a_tagger_is_loaded_by_its_name_whatever_the_profile_would_choose(nltk_folder):
    for tagger in (load_tagger(TaggingParameters(tagger=name)) for name in ("nltk", "textblob")):
        assert load_named_tagger(tagger.name, TaggingParameters()) == tagger
    with pytest.raises(CoattendError, match="spacy: there is no such tagger"):
        load_named_tagger("spacy", TaggingParameters())


def test_the_fallback_knows_common_english():
    tagger = load_tagger(TaggingParameters(tagger="textblob"))
    assert tagger.name == "textblob lexicon"
    assert tagged(tagger, "The old captain sailed quickly to Norway.") == [
        ("The", "DT"), ("old", "JJ"), ("captain", "NN"), ("sailed", "VBD"), ("quickly", "RB"), ("to", "TO"),
        ("Norway", "NNP"), (".", "ERR"),
    ]  # fmt: skip


def test_the_fallback_judges_a_word_by_its_form_and_its_neighbours():
    tagger = load_tagger(TaggingParameters(tagger="textblob"))
    assert tags_of(tagger, "She blorked them")[1].startswith("VB")
    assert tags_of(tagger, "They drank the water")[-1] == "NN"
    assert tags_of(tagger, "They want to water")[-1] == "VB"


FIRST_SENTENCES = [
    ("It rains. He stays.", "It rains. "),
    ('"Go!" She went.', '"Go!" '),
    ("Is it 5? 6 is more.", "Is it 5? "),
    ("Mr. Ode met Dr. Wu at 5 p.m. He left.", "Mr. Ode met Dr. Wu at 5 p.m. He left."),
    ("J. R. Ode came. He left.", "J. R. Ode came. "),
    ("So do I. He left.", "So do I. "),
    ("It costs 3.50 in all. ok", "It costs 3.50 in all. ok"),
]


def test_the_fallbacks_sentences(subtests):
    for line, first in FIRST_SENTENCES:
        with subtests.test(line=line):
            start, end = next(iter(TextblobTagger().sentence_spans(line)))
            assert line[start:end] == first


def test_an_initial_may_begin_a_later_sentence():
    line = "It rains. J. Ode came. He left."
    spans = TextblobTagger().sentence_spans(line)
    assert [line[start:end] for start, end in spans] == ["It rains. ", "J. Ode came. ", "He left."]


def test_the_extended_tagset_names_quotes_in_the_fallback():
    tags = tags_of(
        load_tagger(TaggingParameters(tagger="textblob", tagset="extended")), 'She said "no" (twice), twice: "#1"!'
    )
    assert "ERR" not in tags


@settings(deadline=None, max_examples=150)
@given(texts)
def test_any_text_can_be_tagged(text):
    words = load_tagger(TaggingParameters(tagger="textblob"))(text)
    assert len(words.starts) == len(words.ends) == len(words.tag_ids)
    assert "".join(text[s:e] for s, e in zip(words.starts, words.ends, strict=True)) == "".join(text.split())
    assert all(ERR <= tag < len(tagset("penn")) for tag in words.tag_ids)


@settings(deadline=None, max_examples=100)
@given(texts)
def test_any_text_can_be_tagged_by_nltk(text):
    if any(nltk_data.find_package(package) is None for package in nltk_data.PACKAGES):
        pytest.skip("NLTK's data is not at hand; set COATTEND_RAW or NLTK_DATA")
    words = load_tagger(TaggingParameters(tagger="nltk"))(text)
    assert "".join(text[s:e] for s, e in zip(words.starts, words.ends, strict=True)) == "".join(text.split())


def test_it_equals_nltks_own_pipeline_on_a_plain_text():
    if any(nltk_data.find_package(package) is None for package in nltk_data.PACKAGES):
        pytest.skip("NLTK's data is not at hand; set COATTEND_RAW or NLTK_DATA")
    nltk.data.path += [str(nltk_data.find_package(package)) for package in nltk_data.PACKAGES]
    text = 'The "captain" could not stay. Mr. Ode, who sailed in 1999, asked: "Why not?" It\'s 5 p.m. now.'
    tagger = load_tagger(TaggingParameters(tagger="nltk", tagset="extended"))
    sentences = [nltk.pos_tag(nltk.word_tokenize(sentence)) for sentence in nltk.sent_tokenize(text)]
    assert tags_of(tagger, text) == [tag for sentence in sentences for _, tag in sentence]


def run_without_data(code: str, folder: Path) -> subprocess.CompletedProcess:
    """Run Python where neither NLTK data nor a network is to be had."""
    if any(Path(system_folder, nltk_data.PUNKT).exists() for system_folder in nltk_data.search_folders()[-7:]):
        pytest.skip("NLTK data lies in a system folder")
    nowhere = {"HOME": str(folder), "COATTEND_RAW": str(folder), "NLTK_DATA": "", "https_proxy": "http://127.0.0.1:9"}
    environment = {k: v for k, v in os.environ.items() if k.lower() not in ("no_proxy", "all_proxy")} | nowhere
    return run(code, env=environment)


def run(code: str, **options: Any) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **options)


def test_without_data_auto_falls_back_with_one_warning_and_nltk_says_how_to_get_it(tmp_path):
    process = run_without_data(
        """
        import json, logging
        logging.basicConfig(format="%(message)s")
        from coattend.errors import CoattendError
        from coattend.config import TaggingParameters
        from coattend.text.tagging import load_named_tagger, load_tagger
        tagger = load_tagger(TaggingParameters())
        load_tagger(TaggingParameters(tagset="extended"))
        try:
            load_tagger(TaggingParameters(tagger="nltk"))
        except CoattendError as error:
            refused = str(error)
        print(json.dumps([tagger.name, tagger("She sings.").tag_ids, refused]))
        """,
        tmp_path,
    )
    assert process.returncode == 0, process.stderr
    name, tags, refused = json.loads(process.stdout)
    assert name == "textblob lexicon"
    assert len(tags) == 3
    assert "python -m nltk.downloader punkt_tab averaged_perceptron_tagger_eng" in refused
    assert str(tmp_path / "nltk_data") in refused
    assert process.stderr.count("textblob's lexicon tags instead") == 1
    assert "Traceback" not in process.stderr
    assert "nltk_data]" not in process.stderr


def test_finding_a_tagger_and_its_digest_does_not_import_nltk(nltk_folder):
    code = """
    import sys
    from coattend.config import TaggingParameters
    from coattend.text.tagging import load_named_tagger, load_tagger
    for tagger in ("nltk", "textblob"):
        load_tagger(TaggingParameters(tagger=tagger)).digest
    print([name for name in ("nltk", "textblob", "torch", "transformers") if name in sys.modules])
    """
    process = run(code)
    assert process.stdout.strip() == "[]", process.stderr


def test_zipped_packages_work(nltk_folder):
    plain = load_tagger(TaggingParameters(tagger="nltk"))
    for package in nltk_data.PACKAGES:
        folder = nltk_folder / package
        shutil.make_archive(str(folder), "zip", folder.parent, folder.name)
        shutil.rmtree(folder)
    zipped = load_tagger(TaggingParameters(tagger="nltk"))
    assert zipped.digest == plain.digest
    assert tags_of(zipped, "Wu is the Wu.") == ["NNP", "VBZ", "DT", "NNP", "ERR"]


def test_what_a_tagger_remembers_is_what_it_would_tag_and_bounded():
    tagger = load_tagger(TaggingParameters(tagger="textblob"))
    remembering = RememberingTagger(tagger.tagger, tagger.tagset)
    texts = [f"The lamp {number} is in the hall." for number in range(2 * REMEMBERED)]
    for start in (0, 40, 0):
        assert remembering.tag_all([*texts[start:], texts[start]]) == tagger.tag_all([*texts[start:], texts[start]])
        assert len(remembering._known) == REMEMBERED
