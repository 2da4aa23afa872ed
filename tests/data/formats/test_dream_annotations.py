"""Question types as DREAM's annotators wrote them."""

import pytest

from coattend.data.formats.dream import read_annotations
from coattend.errors import CoattendError

HEADER = "dialogueID\tquestionIndex\ttype\n"


def write(folder, name, content):
    (folder / name).write_text(content)
    return folder / name


def test_each_annotator_has_types_of_their_own(tmp_path):
    first = write(tmp_path, "annotator1_dev.txt", HEADER + "4-1\t1\tcl\n4-1\t2\tm\n")
    second = write(tmp_path, "annotator2_dev.txt", HEADER + "4-1\t1\tl\n")
    assert read_annotations([first, second]) == {
        "4-1-1": ("commonsense, annotator1", "logic, annotator1", "logic, annotator2"),
        "4-1-2": ("matching, annotator1",),
    }


@pytest.mark.parametrize("line", ["4-1\t1", "4-1 1 cl", "4-1\tone\tcl", "4-1\t1\txyz", "4-1\t1\t"])
def test_a_line_of_another_form_is_named(tmp_path, line):
    with pytest.raises(CoattendError, match="line 2"):
        read_annotations([write(tmp_path, "annotator1_dev.txt", f"4-1\t1\tm\n{line}\n")])


def test_published_annotations(raw):
    files = sorted((raw / "dream" / "annotation").glob("annotator*.txt"))
    if not files:
        pytest.skip("there are no annotations")
    types = read_annotations(files)
    assert len(types) == 515
    assert {annotation.split(", ")[0] for question_types in types.values() for annotation in question_types} == {
        "matching", "summary", "logic", "arithmetic", "commonsense"
    }  # fmt: skip
