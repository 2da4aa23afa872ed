"""A reader's architecture as a flowchart."""

from coattend import readers


def test_the_architecture_is_drawn_from_the_parts():
    flowchart = readers.architecture("poi_net", turns=5)
    assert flowchart.startswith("flowchart TD")
    assert "turns: 5" in flowchart
    assert "interaction -->|question| head" in flowchart
    one_sided = readers.architecture("duma", direction="passage_to_question")
    assert "interaction -->|passage| head" in one_sided
    assert "interaction -->|question| head" not in one_sided
    assert "encoder -->|summary| interaction" in readers.architecture("plain", pooling="cls_pooler")
    assert "answer([" in readers.architecture("plain", head="span")


def test_the_architecture_shows_the_features_of_a_token():
    for name, options, features in (
        ("plain", {}, "subword tokens"),
        ("poi_net", {}, "subword tokens, POS tags"),
        ("plain", {"hidden_tag_embedding": True}, "subword tokens, POS tags"),
        ("aoa_reader", {}, "words"),
        ("aoa_reader", {"tag_embedding": True}, "words, POS tags"),
        ("dcn_context", {}, "words, context vectors"),
        ("dcn_plus", {"tag_embedding": True}, "words, character n-grams, POS tags, context vectors"),
        ("recurrent+coattention", {"head": "span"}, "words"),
    ):
        assert f'tokens(["{features}"]) --> encoder' in readers.architecture(name, **options)
