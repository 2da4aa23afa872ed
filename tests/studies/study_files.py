"""A small study, and what is told of one that is wrong."""

from pathlib import Path

import pytest

from coattend import studies
from coattend.errors import CoattendError

GOOD = """\
paper: { title: A paper, authors: [A. Nobody], year: 2022, venue: none, key: nobody2022 }
studies:
  table1:
    title: Turns
    source: A paper, table 1
    benchmarks: [dream, race]
    base: { reader: poi_net }
    baseline: poi_net
    variants:
      poi_net: { title: POI-Net }
      duma: { title: DUMA, change: { reader: duma } }
      turns_1: { title: 1 turn, change: { turns: 1 } }
"""


def read(folder: Path, *changed: str) -> list[studies.Study]:
    """Write the study with some texts in the place of others, in pairs, and read it."""
    text = GOOD
    for right, wrong in zip(changed[::2], changed[1::2], strict=True):
        assert right in text
        text = text.replace(right, wrong)
    file = folder / "mine.yml"
    file.write_text(text)
    return studies.read_studies(file)


def error_of(folder: Path, *changed: str) -> CoattendError:
    """The error that such a study is refused with."""
    with pytest.raises(CoattendError) as error:
        read(folder, *changed)
    return error.value
