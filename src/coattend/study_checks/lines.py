"""The lines of a study's figure."""

from collections.abc import Iterator

from coattend.study import Study
from coattend.study_checks.problem import Problem


def of_lines(study: Study) -> Iterator[Problem]:
    """Points without an axis, a figure without points, or two points of a line in one place."""
    asked = study.parameters
    places: dict[tuple[str, float | str], str] = {}
    for name, variant in asked.variants.items():
        path = ("variants", name)
        if bool(variant.series) != (variant.at is not None):
            yield Problem(path, "has only one of 'series' and 'at'", "Say of which lines it is a point, and where")
        for series in variant.series if variant.at is not None else ():
            other = places.setdefault((series, variant.at), name)
            if other != name and variant.at != "questions":
                what = f"{name!r} and {other!r} stand at the same place of the line {series!r}"
                yield Problem((*path, "at"), what, "Say where they differ")
    if "lines" in asked.shows and not (places and asked.axis):
        yield Problem(
            ("shows",), "lines need an axis and variants that are its points", "Give 'axis', 'series' and 'at'"
        )
    if places and "lines" not in asked.shows:
        yield Problem(("shows",), "variants are points of lines that are not shown", "Add lines")
