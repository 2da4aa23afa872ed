"""Names of readers and parts, and readers of other packages."""

import os
import subprocess
import sys

import pytest
import tiny

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers import interactions, registry
from coattend.readers.reader import Reader

HEAVY = "import sys; assert not {'torch', 'transformers'} & set(sys.modules), 'heavy import'\n"

NAMES = """
    plain poi_net poi_net_no_pos poi_net_no_co_attention duma tb_duma duma_p_to_q duma_q_to_p duma_inside_encoder
    soft_attention bidaf dcmn multi_head_block recam_duma aoa_reader as_reader cas_reader attentive_reader
    stanford_reader ga_reader dcn dcn_context dcn_plus dcn_plus_shallow_encoder dcn_plus_no_mixed_objective
    dcn_plus_no_experts aoa_span plain_apart poi_net_apart duma_apart option_likelihood
"""


def run_python(code, *path):
    search_path = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=os.environ | {"PYTHONPATH": search_path},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_names_heads_and_options_are_known_without_torch():
    run_python(
        "from coattend import readers\n"
        "assert {'plain', 'poi_net', 'duma'} <= set(readers.names())\n"
        "assert readers.fits('plain', ('span',)) and not readers.fits('dcmn', ('word',))\n"
        "assert readers.head_for('duma', ('span', 'options')) == 'options'\n"
        "assert readers.task_of('span') == 'span'\n"
        "assert readers.resolve('poi_net', turns=2)['turns'] == 2\n"
        "assert readers.capabilities()\n"
        "readers.check_option('duma', 'layers', 2)\n" + HEAVY
    )


def test_the_readers_of_the_papers_have_their_names():
    assert set(NAMES.split()) == set(readers.names())


def test_every_declared_head_can_be_resolved():
    for name in readers.names():
        for head in readers.heads_of(name):
            assert readers.resolve(name, head)


def test_every_part_has_a_module_with_the_options_that_configs_lists():
    for role, names in (
        ("encoder", registry.encoders),
        ("interaction", registry.interactions),
        ("head", registry.heads),
    ):
        for name in names():
            assert registry.part_class(role, name).Config is registry.part_config(role, name), name


def test_readers_without_a_name_are_called_by_their_parts():
    reader = readers.build("recurrent+deep_residual_coattention", encoder=tiny.encoder("words"), head="options")
    assert reader.config.reader == "recurrent+deep_residual_coattention"
    with pytest.raises(CoattendError, match=r"no encoder 'recurent'. Did you mean 'recurrent'\?"):
        readers.build("recurent+coattention", encoder=tiny.encoder())
    with pytest.raises(CoattendError, match=r"no interaction 'coatention'. Did you mean 'coattention'\?"):
        readers.resolve("recurrent+coatention")


def test_misspelt_names_are_answered_with_those_that_exist():
    with pytest.raises(CoattendError, match=r"no reader 'poinet'\. Did you mean 'poi_net'\? Known: .*duma.*plain"):
        readers.build("poinet", encoder="embedded")
    with pytest.raises(CoattendError, match=r"no head 'spam'\. Did you mean 'span'\? Known: options, span, word"):
        readers.resolve("plain", head="spam")


@pytest.mark.parametrize("head", ["spam", "os:path"])
def test_a_head_is_one_of_this_package(head):
    with pytest.raises(CoattendError, match=rf"there is no head '{head}'"):
        readers.task_of(head)


def test_a_benchmark_is_answered_with_the_first_head_that_can():
    assert readers.head_for("plain", ("options", "span")) == "options"
    assert readers.head_for("plain", ("span",)) == "span"
    assert readers.head_for("plain", ("options", "span"), "span") == "span"
    with pytest.raises(CoattendError, match=r"cannot answer what is asked for: word\. Its heads answer: options"):
        readers.head_for("dcmn", ("word",))
    with pytest.raises(CoattendError, match="cannot answer"):
        readers.head_for("plain", ("options",), "span")


# A reader of another package: its interaction in one module, or apart from its declaration.

INTERACTION = '''
"""An interaction of another package."""

import torch
from pydantic import Field

from coattend.readers import NamedReader
from coattend.readers.interfaces import Attended, Encoded, EncoderShape, InteractionConfig


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
'''

IN_ONE_FILE = (
    INTERACTION + '\n\nREADER = NamedReader(title="Gated", interaction=Gated, heads=("options", "span"), '
    'defaults={"sharpness": 2.0})\n'
)

BY_REFERENCE = '''
"""The declaration of a reader whose interaction is imported when it is needed."""

from coattend.readers import NamedReader

READER = NamedReader(
    title="Gated", interaction="others.interaction:Gated", heads=("options", "span"), defaults={"sharpness": 2.0}
)
'''


def write_package(folder, **modules):
    """Write a package ``others`` with an entry point for its module ``gated``."""
    (folder / "others").mkdir()
    for module, text in {"__init__": "", **modules}.items():
        (folder / "others" / f"{module}.py").write_text(text)
    metadata = folder / "others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[coattend.readers]\ngated = others.gated\n")
    return folder


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Write a package with an entry point for this process."""

    def write(**modules):
        write_package(tmp_path, **modules)
        monkeypatch.syspath_prepend(tmp_path)
        registry._declaring_modules.cache_clear()

    yield write
    monkeypatch.undo()
    registry._declaring_modules.cache_clear()
    for module in [module for module in sys.modules if module.partition(".")[0] == "others"]:
        del sys.modules[module]


def test_readers_of_other_packages_are_known_before_torch_is_imported(tmp_path):
    """An interaction that is named by reference is not even imported for the heads of its reader."""
    package = write_package(tmp_path, gated=BY_REFERENCE, interaction="raise AssertionError")
    run_python(
        "from coattend import readers\n"
        "assert 'gated' in readers.names()\n"
        "assert readers.fits('gated', ('span',)) and readers.encoder_of('gated') == 'transformer'\n" + HEAVY,
        package,
    )


@pytest.mark.parametrize(
    "modules",
    [{"gated": IN_ONE_FILE}, {"gated": BY_REFERENCE, "interaction": INTERACTION}],
    ids=["one file", "by reference"],
)
def test_a_reader_of_another_package_is_resolved_built_saved_and_loaded(plugin, modules, tmp_path):
    plugin(**modules)
    assert "gated" in readers.names()
    assert readers.fits("gated", ("span",)) and readers.encoder_of("gated") == "transformer"
    assert {"sharpness", "scorer_layers"} <= set(readers.option_names("gated"))
    assert readers.resolve("gated")["sharpness"] == 2.0
    readers.build("gated", encoder=tiny.encoder(), sharpness=3.0).save(tmp_path / "saved")
    loaded = Reader.load(tmp_path / "saved")
    assert loaded.interaction.sharpness == 3.0
    assert loaded(tiny.batch([tiny.question(0)])).loss.isfinite()
    assert "sharpness: 2.0" in readers.architecture("gated")
    assert {tmp_path / "others" / f"{module}.py" for module in modules} <= set(readers.sources("gated"))


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        (
            'READER = NamedReader(title="Gated", interaction=Gated, defaults={"sharpnes": 2.0})',
            r"there is no option 'sharpnes'\. Did you mean 'sharpness'\?",
        ),
        ('READER = NamedReader(title="Gated", interaction="gate")', "there is no interaction 'gate'"),
        ('READER = NamedReader(title="Gated", interaction="others.gated:Gate")', r"others\.gated: defines no Gate"),
        ("READER = NamedReader(", r"others\.gated: is no Python"),
        ("import no_such_module", r"others\.gated: cannot be imported: No module named 'no_such_module'"),
        (
            "READER = NameReader()",
            r"others\.gated: cannot be imported: NameError: name 'NameReader' is not .* \(gated\.py, line",
        ),
        (
            "class Sharp(Gated.Config):\n    power = 2",
            r"others\.gated: cannot be imported: PydanticUserError: .* \(gated\.py, line",
        ),
        (
            "class Sharp(Gated.Config):\n    power: int\n\nclass Sharper(Gated):\n    Config = Sharp\n\n"
            'READER = NamedReader(title="Gated", interaction=Sharper)',
            r"others\.gated: the option 'power' of Sharp lacks a default or a description",
        ),
        ("READER = 1", r"others\.gated: assigns no NamedReader to READER"),
    ],
    ids=["option", "interaction", "class", "syntax", "import", "name", "annotation", "default", "type"],
)
def test_a_wrong_declaration_is_named(plugin, declaration, problem):
    plugin(gated=f"{INTERACTION}\n\n{declaration}\n")
    with pytest.raises(CoattendError, match=problem):
        readers.resolve("gated")


def test_a_module_that_is_missing_is_named(plugin):
    plugin()
    with pytest.raises(CoattendError, match=r"others\.gated: cannot be imported: No module named 'others\.gated'"):
        readers.heads_of("gated")


@pytest.fixture
def new_interaction(tmp_path, monkeypatch):
    """Add a file to ``readers/interactions``."""
    (tmp_path / "look_again.py").write_text(IN_ONE_FILE)
    monkeypatch.setattr(interactions, "__path__", [*interactions.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_unlisted_interactions", lambda: frozenset({"look_again"}))
    registry._declaring_modules.cache_clear()
    yield "look_again"
    registry._declaring_modules.cache_clear()
    sys.modules.pop("coattend.readers.interactions.look_again", None)


def test_a_new_file_of_an_interaction_is_a_reader_and_a_part(new_interaction):
    assert new_interaction in readers.names()
    assert readers.resolve(new_interaction)["sharpness"] == 2.0
    assert readers.build(new_interaction, encoder=tiny.encoder(), head="span").interaction.sharpness == 2.0
    assert "look_again.py" in {file.name for file in readers.sources(new_interaction)}
    reader = readers.build(f"recurrent+{new_interaction}", encoder=tiny.encoder("words"), sharpness=3.0, hidden=6)
    assert reader.interaction.sharpness == 3.0
    heads = {capability.head for capability in readers.capabilities() if capability.interaction == new_interaction}
    assert heads == set(registry.heads())
