"""The code that decides what a reader computes, and its digest."""

from pathlib import Path

import pytest

from coattend import readers
from coattend.readers import source_code
from coattend.readers.source_code import _behaviour


def test_sources_are_the_files_that_a_reader_is_made_of():
    files = {
        path.relative_to(Path(readers.__file__).parent).as_posix() for path in readers.sources("poi_net", "options")
    }
    assert {
        "interactions/iterative_co_attention.py",
        "encoders/transformer.py",
        "encoders/pretrained.py",
        "heads/options.py",
        "layers/attention.py",
        "layers/masked.py",
    } <= files
    assert {"interfaces.py", "reader.py", "batch.py"} <= files
    assert {"encoders/configs.py", "interactions/configs.py", "heads/configs.py"} <= files
    assert not {"heads/span.py", "interactions/dual_multi_head.py", "registry.py", "composition.py", "zoo.py"} & files


def test_a_reader_without_a_name_has_its_interactions_code():
    files = {path.name for path in readers.sources("recurrent+deep_residual_coattention", "options")}
    assert {"deep_residual_coattention.py", "coattention.py", "recurrent.py"} <= files


def test_readers_of_the_same_parts_have_the_same_digest_and_others_have_another():
    assert readers.code_digest("duma") == readers.code_digest("duma_p_to_q") == readers.code_digest("tb_duma")
    digests = [
        readers.code_digest(name, head) for name, head in (("duma", "options"), ("duma", "span"), ("bidaf", None))
    ]
    assert len(set(digests)) == 3


@pytest.fixture
def digests_after(monkeypatch):
    """Digest POI-Net and DUMA as if a piece of code were another one, wherever it is."""

    def digests(code, change):
        with monkeypatch.context() as patch:
            patch.setattr(
                source_code.inspect, "getsource", lambda definition: getsource(definition).replace(code, change)
            )
            return [readers.code_digest("poi_net"), readers.code_digest("duma")]

    getsource = source_code.inspect.getsource
    return digests


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("narrow: int = Field(96", "narrow: int = Field(95"),  # options of BiDAF
        ('title="POI-Net"', 'title="POINet"'),  # the zoo
        ("import math\n", "import math  # square roots\n"),
    ],
)
def test_code_of_other_readers_and_comments_leave_a_digest_as_it_is(digests_after, code, change):
    assert digests_after(code, change) == [readers.code_digest("poi_net"), readers.code_digest("duma")]


@pytest.mark.parametrize(
    ("code", "change", "changed"),
    [
        ("return self.turns > 0", "return True", [True, False]),  # options of POI-Net
        ("so do stacked layers", "stacked layers do too", [False, False]),  # a docstring
        ("DualMultiHeadConfig", "DuMaConfig", [False, True]),  # the interaction of DUMA
        ("BLOCK_ELEMENTS = 2**21", "BLOCK_ELEMENTS = 2**20", [True, True]),  # a layer of the encoder
    ],
)
def test_a_readers_own_code_changes_its_digest(digests_after, code, change, changed):
    before = [readers.code_digest("poi_net"), readers.code_digest("duma")]
    after = digests_after(code, change)
    assert [old != new for old, new in zip(before, after, strict=True)] == changed


def test_comments_and_docstrings_are_no_code():
    behaviour = _behaviour('"""A."""\ndef turn(x):\n    """B."""\n    return x + 1  # C\n')
    assert behaviour == _behaviour("def turn(x):\n    return x+1\n")
    assert behaviour != _behaviour("def turn(x):\n    return x + 2\n")
