"""YAML that would take a process, or hours, is refused before anything is made of it."""

import pytest

from coattend.config.yaml import Lines
from coattend.errors import CoattendError

TENFOLD = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(12)
)


REFUSED = [
    ("[" * 100_000, "nested more than 100 levels"),
    ("- " * 100_000 + "a", "nested more than 100 levels"),
    ("? " * 100_000 + "a", "nested more than 100 levels"),
    (TENFOLD, "more than 100,000 entries"),
    ("&a [*a]", "one inside itself"),
    ("a: 2020-13-45", "month"),
    ("a: 2001-12-14t21:59:43-99:00", "offset"),
    ("a: !!timestamp a", "is not YAML"),
    ("a: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
    ("a: " + "9" * 5000, "digits"),
]


def test_what_is_refused(subtests, tmp_path):
    for text, problem in REFUSED:
        with subtests.test(problem=problem):
            file = tmp_path / "any.yml"
            file.write_text(text)
            with pytest.raises(CoattendError, match=problem):
                Lines.of(file)


def test_names_for_what_is_small_are_taken(tmp_path):
    file = tmp_path / "any.yml"
    file.write_text("a: &a { b: 1 }\nc: *a\nd: { <<: *a, e: 2 }\n")
    assert Lines.of(file).content == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}
