"""All doors by name. What needs torch is imported when it is asked for."""

from collections.abc import Iterator

from fuzz.door import Door

ASKED = ("prediction_csv", "prediction_jsonl", "prediction_parquet", "http_options", "http_span", "http_word")
"""The doors that a reader answers behind."""

NAMES = (
    *("dream", "race", "race_parquet", "recam", "squad", "squad_parquet", "cbt", "cnn", "cnn_relabelled"),
    *("custom_csv", "custom_jsonl", "custom_parquet", "annotations", "books", "tar_gz", "tar_inside_gz", "zip"),
    *("study", *ASKED),
)


def door(name: str) -> Door:
    """A door.

    Raises:
        KeyError: If there is none of this name.
    """
    return {one.name: one for one in _doors(name)}[name]


def _doors(name: str) -> Iterator[Door]:
    if name in ASKED:
        from fuzz import asked_doors

        return asked_doors.doors()
    if name == "study":
        from fuzz import study_door

        return study_door.doors()
    from fuzz import raw_doors

    return raw_doors.doors()
