"""Options, completed, checked or refused with the nearest right ones, and the matrix of parts that fit together."""

import json

import pytest
import tiny
from pydantic import ValidationError

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.composition import compose
from coattend.readers.reader import Reader


def test_parts_are_named_once_whatever_the_head():
    roles = {}
    for capability in readers.capabilities():
        for role, config in compose(capability.reader, capability.head, {}).configs._asdict().items():
            for option in type(config).model_fields:
                assert roles.setdefault(option, role) == role, option


def test_every_option_has_a_description_and_a_default():
    for capability in readers.capabilities():
        for config in compose(capability.reader, capability.head, {}).configs:
            for option, field in type(config).model_fields.items():
                assert field.description, option
                assert not field.is_required(), option


def test_defaults_are_those_of_the_papers():
    poi_net = {"tag_embedding": True, "turns": 3, "strategy": "forgetting", "pooling": "max", "fuse": "joint"}
    assert poi_net.items() <= readers.resolve("poi_net").items()
    duma = {"fuse": "concatenate", "pooling": "mean", "layers": 1, "direction": "both", "output_projection": False}
    assert duma.items() <= readers.resolve("duma").items()
    assert readers.resolve("plain")["pooling"] == "mean"


def test_every_readers_options_are_known_without_building_it():
    for name in readers.names():
        assert set(compose(name, None, {}).options) <= set(readers.option_names(name)), name
        for head in readers.heads_of(name):
            options = readers.completed(name, head, {})
            filled = {option: value for option, value in options.items() if value is not None}
            assert filled == readers.resolve(name, head), (name, head)


def test_options_are_completed_with_those_of_one_head_alone():
    options = readers.completed("plain", "span", {"pooling": "max", "tag_embedding": True, "dropout": None})
    assert options.items() >= {"tag_embedding": True, "dropout": None, "loss": "sum"}.items()
    assert "pooling" not in options


def test_the_default_of_a_declaration_is_known_and_that_of_a_part_is_left_to_it():
    assert readers.default_of("poi_net", "tag_embedding") is True
    assert readers.default_of("dcn_plus_no_experts", "experts") is False
    assert readers.default_of("poi_net", "layers") is None


@pytest.mark.parametrize(
    ("name", "option", "right", "wrong"),
    [
        ("poi_net", "turns", 1, "three"),
        ("plain", "dropout", None, 1),
        ("dcn", "cell", "gru", "rnn"),
        ("bidaf", "score", "softmax", "logit"),
    ],
)
def test_a_right_value_is_accepted_and_a_wrong_one_refused(name, option, right, wrong):
    readers.check_option(name, option, right)
    with pytest.raises(ValidationError):
        readers.check_option(name, option, wrong)


@pytest.mark.parametrize(
    ("misspelt", "nearest"), [("fues", "fuse"), ("tag_embeding", "tag_embedding"), ("direktion", "direction")]
)
def test_unknown_options_are_refused_with_those_that_exist(misspelt, nearest):
    with pytest.raises(CoattendError, match=rf"no option '{misspelt}'\. Did you mean '{nearest}'\? Known: .*layers"):
        readers.resolve("duma", **{misspelt: "sum"})


def test_wrong_values_are_answered_with_what_the_option_is():
    with pytest.raises(
        CoattendError, match=r"option 'strategy' of the reader 'poi_net': .*'forgetting'.* not 'forget'"
    ):
        readers.resolve("poi_net", strategy="forget")
    with pytest.raises(CoattendError, match=r"option 'turns'.* not -1\. How often passage and question"):
        readers.resolve("poi_net", turns=-1)


def test_parts_that_do_not_fit_are_refused_with_the_reason_and_what_would_fit():
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


def test_a_folder_without_a_reader_is_refused(tmp_path):
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
    description = json.loads((tmp_path / "reader.json").read_text())
    (tmp_path / "reader.json").write_text(json.dumps(description | {"reader": "gone"}))
    with pytest.raises(CoattendError, match="there is no reader 'gone'"):
        Reader.load(tmp_path)


def test_the_matrix_contains_every_combination_with_its_reason_or_what_has_to_be_set():
    matrix = {
        (capability.encoder, capability.interaction, capability.head): capability
        for capability in readers.capabilities()
    }
    assert len(matrix) == 2 * 16 * 6
    assert {capability.task for capability in matrix.values()} == {"options", "span", "word"}
    aoa = matrix["transformer", "attention_over_attention", "options"]
    assert (aoa.reason, aoa.options, aoa.reader) == (None, {}, "transformer+attention_over_attention")
    assert matrix["transformer", "dcmn", "options"].options == {"pooling": "summary"}
    assert matrix["transformer", "none", "span"].reason is None
    assert "brought together with the question" in matrix["recurrent", "none", "span"].reason
    assert "needs summary" in matrix["recurrent", "coattention", "vocabulary"].reason


def test_the_matrix_of_passages_apart_has_reasons_of_its_own():
    matrix = {(row.interaction, row.head): row for row in readers.capabilities(passage="apart")}
    assert len(matrix) == 16 * 6, "of the encoders with that option alone"
    assert matrix["none", "options"].options == {"passage": "apart", "streams": "question"}
    assert matrix["dual_multi_head", "span"].options == {"passage": "apart"}
    assert matrix["none", "pointer"].reason is None
    assert "brought together with the question" in matrix["none", "span"].reason
    assert "does not know its question" in matrix["none", "vocabulary"].reason
