"""Every map of every interaction says how it is read, and says it truly."""

import pytest
from test_maps import SHAPES, batch_for, build

from coattend.readers.legend import STREAMS, legend_of

PLACE = {"passage": "P", "question": "Q", "asked": "Q", "option": "Q"}


def test_the_legend_names_the_axes_of_every_map_and_who_is_looked_at():
    for name, shapes in SHAPES.items():
        legend = legend_of(build(name).interaction)
        assert shapes.keys() <= legend.keys()
        for key, shape in shapes.items():
            axes = tuple(PLACE.get(axis, "counted") for axis in legend[key].axes)
            assert axes == tuple(size if isinstance(size, str) else "counted" for size in shape), (name, key)
        for key, reading in legend.items():
            assert reading.seen in STREAMS, (name, key)
            assert reading.by != reading.seen, (name, key)
            assert reading.level not in STREAMS, (name, key)


@pytest.mark.parametrize("name", ["cas_reader", "aoa_reader", "ga_reader"])
def test_readers_of_words_that_have_more_than_their_mass_show_it_too(name):
    reader = build(name)
    assert "token_mass" in legend_of(reader.interaction)
    assert reader(batch_for(name)).attended.token_mass is not None


def test_an_interaction_of_another_package_brings_its_own():
    interaction = build("poi_net").interaction
    interaction.legend = {"mine": None}
    assert legend_of(interaction) == {"mine": None}
