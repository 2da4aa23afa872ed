"""How a study tunes its variants."""

from collections.abc import Iterator
from typing import Any

from coattend.parameters import SearchParameters, TrainingParameters, ValuesParameters
from coattend.parameters.search import SEARCHED
from coattend.study_checks.problem import Problem, of_value, unknown


def of_search(search: SearchParameters) -> Iterator[Problem]:
    """What cannot be searched, or not so often."""
    for field, values in search.space.items():
        path = ("search", "space", field)
        if field in SEARCHED:
            yield from _of_values(path, field, values)
        elif field in TrainingParameters.model_fields:
            problem = f"{field!r} is not how a reader learns, but what it learns or is judged by"
            yield Problem(path, problem, f"Search among {', '.join(SEARCHED)}")
        else:
            yield from unknown(path, field, SEARCHED, "field of training to search")
    if search.count() < search.trials:
        problem = f"{search.trials} configurations are asked for, and the space holds {search.count():g}"
        yield Problem(("search", "trials"), problem, "Ask for fewer, or allow more values")


def _of_values(path: tuple[Any, ...], field: str, values: ValuesParameters) -> Iterator[Problem]:
    """Values that the field itself would refuse."""
    if values.choices is None:
        given = {("low",): values.low, ("high",): values.high}
    else:
        given = {("choices", place): value for place, value in enumerate(values.choices)}
    for place, value in given.items():
        yield from of_value((*path, *place), field, value)
