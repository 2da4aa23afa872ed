"""Every map of every interaction says how it is read, and says it truly."""

import pytest
from test_maps import SHAPES, batch_for, build

from coattend.readers.legend import STREAMS, legend_of

PLACE = {"passage": "P", "question": "Q", "asked": "Q", "option": "Q"}


@pytest.mark.parametrize("name", SHAPES)
def test_the_legend_names_the_axes_of_every_map(name):
    legend = legend_of(build(name).interaction)
    assert SHAPES[name].keys() <= legend.keys()
    for key in SHAPES[name]:
        reading = legend[key]
        axes = tuple(PLACE.get(axis, "counted") for axis in reading.axes)
        assert axes == tuple(size if isinstance(size, str) else "counted" for size in SHAPES[name][key]), key


@pytest.mark.parametrize("name", ["cas_reader", "aoa_reader", "ga_reader"])
def test_readers_of_words_that_have_more_than_their_mass_show_it_too(name):
    reader = build(name)
    assert "token_mass" in legend_of(reader.interaction)
    assert reader(batch_for(name)).attended.token_mass is not None


@pytest.mark.parametrize("name", SHAPES)
def test_a_map_has_someone_who_is_looked_at(name):
    for reading in legend_of(build(name).interaction).values():
        assert reading.seen in STREAMS
        assert reading.by != reading.seen
        assert reading.level not in STREAMS


def test_an_interaction_of_another_package_brings_its_own():
    interaction = build("poi_net").interaction
    interaction.legend = {"mine": None}
    assert legend_of(interaction) == {"mine": None}
