"""CNN and Daily Mail: ``.question`` files of URL, context, query, answer and entities, separated by empty lines.

Entities are anonymised: ``@entity3``; the query holds one ``@placeholder``. Source: Hermann et al. 2015.
"""

import re
from collections.abc import Iterator
from typing import Literal

from coattend.data.formats.base import InvalidRecord, PassageRecord, QuestionRecord, Rejection
from coattend.data.formats.checks import label_of_answer, require_options, require_passage, require_text
from coattend.data.formats.reading import REFETCH, Readable, decode, read_bytes
from coattend.errors import CoattendError
from coattend.text.cloze import candidate_positions

GAP = "@placeholder"
PARTS = ("URL", "context", "query", "answer", "entities")
_ENTITY = re.compile(r"@entity\d+")


def read(
    path: Readable, *, max_characters: int, entities: Literal["kept", "relabelled"] = "kept"
) -> Iterator[PassageRecord | Rejection]:
    """Read the file of one question; see `coattend.data.formats.base.FormatReader`.

    A question's id is its file's name, which is a hash. Questions about one story, by its URL, are of one group. The
    options are the listed entities in the order of their numbers; their names, behind a colon in the list, are dropped:
    only the passage identifies them. Relabelled entities are numbered from 0 in the order in which they first occur in
    context and query.
    """
    text = decode(read_bytes(path), path).replace("\r\n", "\n")
    parts = text.strip("\n").split("\n\n", len(PARTS) - 1)
    if len(parts) != len(PARTS):
        problem = f"has {len(parts)} parts instead of {', '.join(PARTS)}, set apart by empty lines"
        raise CoattendError(problem, where=str(path), cure=REFETCH)
    try:
        yield _passage(_relabel(parts) if entities == "relabelled" else parts, path.name, max_characters)
    except InvalidRecord as error:
        yield Rejection(path.name, "the question", str(error))


def _passage(parts: list[str], file: str, max_characters: int) -> PassageRecord:
    url, context, query, answer, entity_lines = (part.strip() for part in parts)
    require_passage(context, "the context", max_characters=max_characters)
    require_text(query, "the query", max_characters=max_characters)
    gaps = query.split().count(GAP)
    if gaps != 1:
        raise InvalidRecord(f"the query has {gaps} gaps {GAP} instead of one")
    entities = [line.partition(":")[0].strip() for line in entity_lines.split("\n") if line.strip()]
    for entity in entities:
        if not _ENTITY.fullmatch(entity):
            raise InvalidRecord(f"the entity {entity[:60]!r} is not written @entity and a number")
    # By length first, so that @entity10 follows @entity9.
    ordered = sorted(set(entities), key=lambda entity: (len(entity), entity))
    options = require_options(ordered, max_characters=max_characters)
    label = label_of_answer(answer, options)
    # Readers choose among the words of the passage.
    if not candidate_positions(context, options)[label]:
        raise InvalidRecord(f"the answer {answer!r} is not in the context")
    question_id = file.removesuffix(".question")
    question = QuestionRecord(question_id, None, "word", query, options=options, label=label)
    return PassageRecord(question_id, context, None, file, (question,), group_keys=(url,))


def _relabel(parts: list[str]) -> list[str]:
    entities = dict.fromkeys(_ENTITY.findall("\n".join(parts[1:])))
    labels = {entity: f"@entity{number}" for number, entity in enumerate(entities)}
    return [parts[0], *(_ENTITY.sub(lambda match: labels[match.group()], part) for part in parts[1:])]
