"""Names, options, the capability matrix, and readers of other packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.assembly import assemble
from coattend.readers.reader import Reader

HEAVY = "import sys; assert not {'torch', 'transformers'} & set(sys.modules), 'heavy import'"


def python(code, *path):
    searched = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=os.environ | {"PYTHONPATH": searched},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_and_heads_are_known_without_torch():
    python(
        "from coattend import readers\n"
        "assert {'plain', 'poi_net', 'duma'} <= set(readers.names())\n"
        "assert readers.fits('plain', ('span',)) and not readers.fits('dcmn', ('word',))\n"
        "assert readers.head_for('duma', ('span', 'options')) == 'options'\n"
        "assert readers.task_of('span') == 'span'\n" + HEAVY
    )


NAMES = """
    plain poi_net poi_net_no_pos poi_net_no_co_attention duma tb_duma duma_p_to_q duma_q_to_p duma_inside_encoder
    soft_attention bidaf dcmn multi_head_block recam_duma aoa_reader as_reader cas_reader attentive_reader
    stanford_reader ga_reader dcn dcn_context dcn_plus dcn_plus_shallow_encoder dcn_plus_no_mixed_objective
    dcn_plus_no_experts aoa_span
"""


def test_what_the_papers_train_is_there_by_its_name():
    assert set(NAMES.split()) <= set(readers.names())


def test_every_declared_head_can_be_built_and_no_option_of_a_declaration_is_lost():
    for name in readers.names():
        for head in readers.heads_of(name):
            assert readers.resolve(name, head)


def test_the_matrix_holds_every_combination_with_its_reason_or_what_has_to_be_set():
    matrix = {(one.encoder, one.interaction, one.head): one for one in readers.capabilities()}
    assert len(matrix) == 2 * 16 * 5
    assert {one.task for one in matrix.values()} == {"options", "span", "word"}
    aoa = matrix["transformer", "attention_over_attention", "options"]
    assert (aoa.reason, aoa.options, aoa.reader) == (None, {}, "transformer+attention_over_attention")
    assert matrix["transformer", "dcmn", "options"].options == {"pooling": "summary"}
    assert matrix["transformer", "none", "span"].reason is None
    assert "brought together with the question" in matrix["recurrent", "none", "span"].reason
    assert "needs summary" in matrix["recurrent", "coattention", "vocabulary"].reason


def test_parts_are_named_once_whatever_the_head():
    owners = {}
    for one in readers.capabilities():
        for role, config in assemble(one.reader, one.head, {}).configs._asdict().items():
            for option in type(config).model_fields:
                assert owners.setdefault(option, role) == role, option


def test_readers_without_a_name_are_called_by_their_parts():
    reader = readers.build("recurrent+deep_residual_coattention", encoder=tiny.encoder("words"), head="options")
    assert reader.config.reader == "recurrent+deep_residual_coattention"
    assert "deep_residual_coattention.py" in {path.name for path in readers.sources(reader.config.reader, "options")}
    with pytest.raises(CoattendError, match=r"no encoder 'recurent'. Did you mean 'recurrent'\?"):
        readers.build("recurent+coattention", encoder=tiny.encoder())
    with pytest.raises(CoattendError, match=r"no interaction 'coatention'. Did you mean 'coattention'\?"):
        readers.resolve("recurrent+coatention")


def test_defaults_are_those_of_the_papers():
    poi_net = {"tag_embedding": True, "turns": 3, "strategy": "forgetting", "pooling": "max", "fuse": "joint"}
    assert poi_net.items() <= readers.resolve("poi_net").items()
    duma = {"fuse": "concatenate", "pooling": "mean", "layers": 1, "direction": "both", "output_projection": False}
    assert duma.items() <= readers.resolve("duma").items()
    assert readers.resolve("plain")["pooling"] == "mean"


def test_misspelt_names_are_answered_with_those_that_exist():
    with pytest.raises(CoattendError, match=r"no reader 'poinet'\. Did you mean 'poi_net'\? Known: .*duma.*plain"):
        readers.build("poinet", encoder="embedded")
    with pytest.raises(CoattendError, match=r"no head 'spam'\. Did you mean 'span'\? Known: options, span, word"):
        readers.resolve("plain", head="spam")
    with pytest.raises(CoattendError, match=r"no option 'fues'\. Did you mean 'fuse'\? Known: .*tag_embedding"):
        readers.resolve("duma", fues="sum")


def test_wrong_values_are_answered_with_what_the_option_is():
    with pytest.raises(
        CoattendError, match=r"option 'strategy' of the reader 'poi_net': .*'forgetting'.* not 'forget'"
    ):
        readers.resolve("poi_net", strategy="forget")
    with pytest.raises(CoattendError, match=r"option 'turns'.* not -1\. How often passage and question"):
        readers.resolve("poi_net", turns=-1)


def test_what_does_not_fit_is_refused_with_the_reason_and_what_would_fit():
    with pytest.raises(CoattendError, match=r"needs summary, and its interaction fills passage, question") as raised:
        readers.build("poi_net", encoder=tiny.encoder(), pooling="cls_pooler")
    assert "What would fit: head=span, head=word, pooling=mean, pooling=max" in str(raised.value)
    with pytest.raises(CoattendError, match="needs passage, and its interaction fills question") as raised:
        readers.resolve("duma", head="span", direction="question_to_passage")
    assert "What would fit: head=options, direction=both, direction=passage_to_question" in str(raised.value)


def test_options_of_the_other_head_are_checked_and_left_out_when_resolved_and_refused_when_built():
    resolved = readers.resolve("plain", head="span", pooling="max", tag_embedding=True)
    assert resolved == readers.resolve("plain", head="span", tag_embedding=True)
    with pytest.raises(CoattendError, match="not 'maxi'"):
        readers.resolve("plain", head="span", pooling="maxi")
    with pytest.raises(CoattendError, match="no option 'pooling'"):
        readers.build("plain", encoder=tiny.encoder(), head="span", pooling="max")


def test_resolved_options_build_the_same_reader():
    options = readers.resolve("duma", layers=2)
    assert json.loads(json.dumps(options)) == options
    reader = readers.build("duma", encoder=tiny.encoder(), **options)
    assert reader.config.options == options
    assert json.loads(json.dumps(reader.config.describe()))["reader"] == "duma"
    assert not reader.training


def test_a_benchmark_is_answered_with_the_first_head_that_can():
    assert readers.head_for("plain", ("options", "span")) == "options"
    assert readers.head_for("plain", ("span",)) == "span"
    assert readers.head_for("plain", ("options", "span"), "span") == "span"
    with pytest.raises(CoattendError, match=r"cannot answer what is asked for: word\. Its heads answer: options"):
        readers.head_for("dcmn", ("word",))
    with pytest.raises(CoattendError, match="cannot answer"):
        readers.head_for("plain", ("options",), "span")


def test_sources_are_the_files_that_a_reader_is_made_of():
    files = {path.name for path in readers.sources("poi_net", "options")}
    assert {
        "poi_net.py",
        "iterative_co_attention.py",
        "transformer.py",
        "attention.py",
        "options.py",
        "pooling.py",
    } <= files
    assert {"attended.py", "reader.py", "batch.py", "maximum.py"} <= files
    assert not {"span.py", "dual_multi_head.py", "registry.py", "plain.py"} & files
    assert all(path.is_file() for path in readers.sources("poi_net"))


def test_the_architecture_is_drawn_from_the_parts():
    drawn = readers.architecture("poi_net", turns=5)
    assert drawn.startswith("flowchart TD")
    assert "turns: 5" in drawn
    assert "interaction -->|question| head" in drawn
    one_sided = readers.architecture("duma", direction="passage_to_question")
    assert "interaction -->|passage| head" in one_sided
    assert "interaction -->|question| head" not in one_sided
    assert "encoder -->|summary| interaction" in readers.architecture("plain", pooling="cls_pooler")
    assert "answer([" in readers.architecture("plain", head="span")


@pytest.mark.parametrize(
    ("name", "options", "read"),
    [
        ("plain", {}, "subword tokens"),
        ("poi_net", {}, "subword tokens, POS tags"),
        ("plain", {"hidden_tag_embedding": True}, "subword tokens, POS tags"),
        ("aoa_reader", {}, "words"),
        ("aoa_reader", {"tag_embedding": True}, "words, POS tags"),
        ("dcn_context", {}, "words, context vectors"),
        ("dcn_plus", {"tag_embedding": True}, "words, character n-grams, POS tags, context vectors"),
        ("recurrent+coattention", {"head": "span"}, "words"),
    ],
)
def test_the_architecture_says_what_is_read(name, options, read):
    assert f'tokens(["{read}"]) --> encoder' in readers.architecture(name, **options)


READER_FILE = '''
"""A reader in one file."""

import torch
from pydantic import Field

from coattend.readers import NamedReader
from coattend.readers.attended import Attended, Encoded
from coattend.readers.parts import EncoderShape, InteractionConfig


class Gated(torch.nn.Module):
    class Config(InteractionConfig):
        sharpness: float = Field(1.0, description="How sharp the gate is.")

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(shape.hidden_size, 1)
        self.sharpness = config.sharpness

    def forward(self, encoded: Encoded) -> Attended:
        passage = encoded.passage * torch.sigmoid(self.sharpness * self.gate(encoded.passage))
        return Attended(
            passage=passage,
            question=encoded.question,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
        )


READER = NamedReader(title="Gated", interaction=Gated, heads=("options", "span"), defaults={"sharpness": 2.0})
'''


@pytest.fixture
def other_package(tmp_path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "__init__.py").touch()
    (tmp_path / "others" / "gated.py").write_text(READER_FILE)
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[coattend.readers]\ngated = others.gated\n")
    return tmp_path


def test_a_reader_of_another_package_is_one_file(other_package):
    code = (
        "import sys; from coattend import readers\n"
        "assert 'gated' in readers.names() and readers.fits('gated', ('span',))\n"
        "assert {'sharpness', 'scorer_layers'} <= set(readers.option_names('gated'))\n" + HEAVY + "\n"
        f"sys.path.insert(0, {str(Path(tiny.__file__).parent)!r}); import tiny\n"
        "assert readers.resolve('gated')['sharpness'] == 2.0\n"
        "reader = readers.build('gated', encoder=tiny.encoder(), sharpness=3.0)\n"
        "reader.save('saved')\n"
        "from coattend.readers.reader import Reader\n"
        "loaded = Reader.load('saved')\n"
        "assert loaded.interaction.sharpness == 3.0\n"
        "assert loaded(tiny.batch([tiny.question(0)])).loss.isfinite()\n"
        "print(*readers.sources('gated'), sep='\\n')\n"
        "assert 'sharpness: 2.0' in readers.architecture('gated')\n"
    )
    printed = python(f"import os; os.chdir({str(other_package)!r})\n" + code, other_package)
    assert str(other_package / "others" / "gated.py") in printed.splitlines()


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ('defaults={"sharpnes": 2.0}', "there is no option 'sharpnes'. Did you mean 'sharpness'?"),
        ("heads=tuple(['span'])", "the argument 'heads' of READER is computed. Write its value out"),
        ("heads=(", "is no Python"),
    ],
)
def test_a_wrong_declaration_is_named(other_package, changed, problem):
    file = other_package / "others" / "gated.py"
    call = file.read_text().partition("READER = ")[0]
    file.write_text(f'{call}READER = NamedReader(title="Gated", interaction=Gated, {changed})\n')
    printed = python(
        "from coattend import readers\n"
        "from coattend.errors import CoattendError\n"
        "try: readers.resolve('gated')\n"
        "except CoattendError as error: print(error)\n",
        other_package,
    )
    assert problem in printed


def test_what_holds_no_reader_is_refused(tmp_path):
    with pytest.raises(CoattendError, match="holds no reader"):
        Reader.load(tmp_path)
    readers.build("plain", encoder=tiny.encoder()).save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(CoattendError, match=r"model\.safetensors: does not hold the weights of this reader"):
        Reader.load(tmp_path)
    readers.build("plain", encoder=tiny.encoder(), head="span").save(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").rename(tmp_path / "model.safetensors")
    with pytest.raises(CoattendError, match="does not hold the weights of this reader"):
        Reader.load(tmp_path)
    described = json.loads((tmp_path / "reader.json").read_text())
    (tmp_path / "reader.json").write_text(json.dumps(described | {"reader": "gone"}))
    with pytest.raises(CoattendError, match="there is no reader 'gone'"):
        Reader.load(tmp_path)


@pytest.mark.parametrize("name", readers.names())
def test_every_readers_options_are_known_without_building_it(name):
    assert set(assemble(name, None, {}).options) <= set(readers.option_names(name))
