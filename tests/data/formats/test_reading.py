"""A raw file that cannot be used as a whole: one error with file, place and cure."""

import json

import pytest

from coattend.config import FieldParameters
from coattend.data.formats import format_reader, names
from coattend.errors import CoattendError

DREAM = [[["M: Where is the lamp?", "W: In the hall."], [], "1"]]
SQUAD = {"data": [{"title": "Lamps", "paragraphs": [{"context": "The lamp is here.", "qas": []}]}]}
RACE = {"id": "high1.txt", "article": "The lamp.", "questions": [], "options": [], "answers": []}
RECAM = {"article": "The lamp.", "question": "A @placeholder.", "label": 0} | {f"option_{n}": str(n) for n in range(5)}
CNN = ["url", "The lamp of @entity1 .", "@placeholder has a lamp", "@entity1", "@entity0:Ann\n@entity1:Bob"]
CUSTOM = {"passage": "The lamp is here.", "question": "Where?", "answer": "here"}
CONTENTS = {
    "dream": json.dumps(DREAM),
    "squad": json.dumps(SQUAD),
    "cbt": "1 The lamp is here .\n",
    "race": json.dumps(RACE),
    "recam": json.dumps(RECAM),
    "cnn": "\n\n".join(CNN),
    "custom": json.dumps(CUSTOM),
    "fields": json.dumps(CUSTOM),
}
BINARY = {"race_parquet", "squad_parquet"}
IN_TWO_FILES = {"mctest", "cmrc2017"}
"""Formats with answers in another file, which tests of their own try."""
PATHS = FieldParameters(passage="passage", question="question", answer="answer", answer_is="span")
NAME = "raw.jsonl"
"""A name that no format objects to."""


def read(form, path):
    read_file = format_reader(form, {}, PATHS if form == "fields" else None)
    return list(read_file(path, max_characters=1000))


def error_of(form, path):
    with pytest.raises(CoattendError) as caught:
        read(form, path)
    assert str(path) in str(caught.value)
    assert caught.value.cure
    return str(caught.value)


def test_every_format_is_tried_here():
    assert names() == sorted({*CONTENTS, *BINARY, *IN_TWO_FILES})


def test_a_missing_file(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            assert "cannot be read" in error_of(form, tmp_path / NAME)


def test_a_folder_in_place_of_a_file(subtests, tmp_path):
    (tmp_path / NAME).mkdir()
    for form in CONTENTS:
        with subtests.test(form=form):
            assert "cannot be read" in error_of(form, tmp_path / NAME)


def test_an_empty_file(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            for content in (b"", b"\n \r\n"):
                (tmp_path / NAME).write_bytes(content)
                assert "is empty" in error_of(form, tmp_path / NAME)


def test_a_file_that_is_not_utf8(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            content = CONTENTS[form].replace("lamp", "l\xe4mp").encode("latin-1")
            (tmp_path / NAME).write_bytes(content)
            message = error_of(form, tmp_path / NAME)
            assert f"not UTF-8 (byte 0xe4 at offset {content.index(0xE4)})" in message
            line = content[: content.index(0xE4)].count(b"\n") + 1
            assert f"line {line}: " in message


def test_the_place_of_a_wrong_byte_counts_lines_and_the_byte_order_mark(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            content = "\ufeff\n\n".encode() + CONTENTS[form].encode() + b"\n\xff"
            (tmp_path / NAME).write_bytes(content)
            message = error_of(form, tmp_path / NAME)
            assert f"at offset {len(content) - 1})" in message
            assert f"line {content.count(10) + 1}" in message


@pytest.mark.parametrize("form", ["dream", "squad", "race"])
def test_a_truncated_file_at_every_place(form, tmp_path):
    content = CONTENTS[form]
    for length in range(1, len(content)):
        (tmp_path / NAME).write_text(content[:length])
        assert "is not whole JSON" in error_of(form, tmp_path / NAME)


@pytest.mark.parametrize("form", ["recam", "custom", "fields"])
def test_a_broken_line_is_named(form, tmp_path):
    (tmp_path / NAME).write_text(f"{CONTENTS[form]}\n{CONTENTS[form][:20]}\n{CONTENTS[form]}\n")
    message = error_of(form, tmp_path / NAME)
    assert "is not JSON" in message
    assert "line 2" in message


@pytest.mark.parametrize("form", ["dream", "squad"])
def test_json_of_another_shape(form, tmp_path):
    for content in ("[]", "{}", "null", '"text"', "7", '{"data": []}', '{"data": {}}', '{"dialogues": []}'):
        (tmp_path / NAME).write_text(content)
        assert "instead of" in error_of(form, tmp_path / NAME), content


@pytest.mark.parametrize("form", ["dream", "squad"])
@pytest.mark.parametrize("content", ["[" * 200_000, "[" + "9" * 5000 + "]"])
def test_json_that_python_refuses(form, tmp_path, content):
    (tmp_path / NAME).write_text(content)
    error_of(form, tmp_path / NAME)


@pytest.mark.parametrize("form", ["squad", "race", "recam", "custom"])
def test_a_key_that_stands_twice(form, tmp_path):
    key = {"squad": "data", "race": "id", "recam": "label", "custom": "question"}[form]
    (tmp_path / NAME).write_text(CONTENTS[form][:-1] + f', "{key}": 0}}')
    assert f"the key '{key}' stands twice in one object" in error_of(form, tmp_path / NAME)


def test_cbt_that_is_none(tmp_path):
    (tmp_path / NAME).write_text("\n\nOnce upon a time.\n1 There was a lamp .\n")
    assert "line 3" in error_of("cbt", tmp_path / NAME)


def test_a_byte_order_mark_is_accepted(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            (tmp_path / "plain.jsonl").write_text(CONTENTS[form])
            (tmp_path / "marked.jsonl").write_text("\ufeff" + CONTENTS[form])
            plain, marked = (read(form, tmp_path / f"{name}.jsonl") for name in ("plain", "marked"))
            assert repr(plain).replace("plain", "marked") == repr(marked)


def test_line_ends_of_windows_are_accepted(subtests, tmp_path):
    for form in CONTENTS:
        with subtests.test(form=form):
            (tmp_path / "unix.jsonl").write_bytes(CONTENTS[form].encode())
            (tmp_path / "dos.jsonl").write_bytes(CONTENTS[form].replace("\n", "\r\n").encode())
            unix, dos = (read(form, tmp_path / f"{name}.jsonl") for name in ("unix", "dos"))
            assert repr(unix).replace("unix", "dos") == repr(dos)


def test_an_unknown_format_is_refused_with_the_right_one():
    with pytest.raises(CoattendError, match="Did you mean 'squad'"):
        format_reader("sqaud", {})
    with pytest.raises(CoattendError, match="no format"):
        format_reader("world", {})


def test_options_of_a_format_are_checked():
    with pytest.raises(CoattendError, match="Did you mean 'entities'"):
        format_reader("cnn", {"entitys": "kept"})
    with pytest.raises(CoattendError, match="Did you mean 'relabelled'"):
        format_reader("cnn", {"entities": "relabeled"})
    with pytest.raises(CoattendError, match="no option"):
        format_reader("squad", {"version": 2})
