import pytest

from coattend.errors import CoattendError
from coattend.text.tagset import ERR, PAD, SPE, tagset


def test_penn_is_padding_special_error_and_36_tags_in_alphabetical_order():
    names = tagset("penn").names
    assert len(names) == 39
    assert (names[PAD], names[SPE], names[ERR]) == ("PAD", "SPE", "ERR")
    assert list(names[3:]) == sorted(set(names[3:]))
    assert {"CC", "NN", "NNPS", "PRP$", "WP$", "WRB"} <= set(names)


def test_extended_only_appends():
    penn, extended = tagset("penn"), tagset("extended")
    assert extended.names[:39] == penn.names
    assert len(extended) == 48


def test_punctuation_is_an_error_for_penn_and_has_its_tag_in_extended():
    assert tagset("penn").ids(["NN", ".", "``"]) == [tagset("penn").names.index("NN"), ERR, ERR]
    assert ERR not in tagset("extended").ids([".", ",", ":", "(", ")", "''", "``", "$", "#"])


@pytest.mark.parametrize("tag", ["", "XX", "nn", "PAD", "SPE", "ERR"])
def test_what_is_no_tag_is_an_error(tag):
    assert tagset("extended").ids([tag]) == [ERR]


def test_an_unknown_tagset_is_refused_with_the_nearest_name():
    with pytest.raises(CoattendError, match="Did you mean 'extended'"):
        tagset("extend")
