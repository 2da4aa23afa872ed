"""CNN and Daily Mail: ``.question`` files of URL, context, query, answer and entities, set apart by empty lines.

Entities are anonymised: ``@entity3``; the query holds one ``@placeholder``. Source: Hermann et al. 2015.
"""

import re
from collections.abc import Iterator
from typing import Literal

from coattend.benchmarks.checks import Flaw, label_of, need_options, need_text, need_words
from coattend.benchmarks.files import CURE, Readable, decode, read_bytes
from coattend.benchmarks.records import PassageRecord, QuestionRecord, Rejected
from coattend.errors import CoattendError
from coattend.text.occurrences import occurrences

GAP = "@placeholder"
PARTS = ("URL", "context", "query", "answer", "entities")
_ENTITY = re.compile(r"@entity\d+")


def read(
    path: Readable, *, max_characters: int, entities: Literal["kept", "relabelled"] = "kept"
) -> Iterator[PassageRecord | Rejected]:
    """Read the file of one question; see `coattend.benchmarks.formats.Read`.

    Entities keep their published numbers, or are numbered from 0 in the order in which they first occur in context and
    query.

    A question's id is its file's name, which is a hash. The options are the entities of its list, in the order of their
    numbers; their names, behind a colon in the list, are dropped: nothing but the passage tells who they are.
    """
    text = decode(read_bytes(path), path).replace("\r\n", "\n")
    parts = text.strip("\n").split("\n\n", len(PARTS) - 1)
    if len(parts) != len(PARTS):
        problem = f"has {len(parts)} parts instead of {', '.join(PARTS)}, set apart by empty lines"
        raise CoattendError(problem, where=str(path), cure=CURE)
    try:
        if entities == "relabelled":
            parts = _relabelled(parts)
        yield _passage(parts, path.name, max_characters)
    except Flaw as flaw:
        yield Rejected(path.name, "the question", str(flaw))


def _passage(parts: list[str], file: str, max_characters: int) -> PassageRecord:
    _, context, query, answer, listed = (part.strip() for part in parts)
    need_words(need_text(context, "the context", max_characters=max_characters), "the context")
    need_text(query, "the query", max_characters=max_characters)
    if query.split().count(GAP) != 1:
        raise Flaw(f"the query has {query.split().count(GAP)} gaps {GAP} instead of one")
    entities = [line.partition(":")[0].strip() for line in listed.splitlines() if line.strip()]
    for entity in entities:
        if not _ENTITY.fullmatch(entity):
            raise Flaw(f"the entity {entity[:60]!r} is not written @entity and a number")
    ordered = sorted(set(entities), key=lambda entity: (len(entity), entity))
    options = need_options(ordered, max_characters=max_characters)
    label = label_of(answer, options)
    if not occurrences(context, options)[label]:
        raise Flaw(f"the answer {answer!r} is not in the context")
    name = file.removesuffix(".question")
    question = QuestionRecord(name, None, "word", query, options=options, label=label)
    return PassageRecord(name, context, None, file, (question,))


def _relabelled(parts: list[str]) -> list[str]:
    names = dict.fromkeys(_ENTITY.findall("\n".join(parts[1:])))
    numbers = {name: f"@entity{number}" for number, name in enumerate(names)}
    return [parts[0], *(_ENTITY.sub(lambda match: numbers[match.group()], part) for part in parts[1:])]
