"""Small changes that make a whole input a bad one, drawn by lot."""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

NASTY_JSON = (
    "null",
    "true",
    "-1",
    "0",
    "1.0",
    "NaN",
    "-Infinity",
    "1e999",
    "9223372036854775808",
    "32768",
    "9" * 5000,
    "[]",
    "{}",
    '""',
    '" "',
    '"\\ud800"',
    '"a \\udfff b"',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\\u202e\\ufeff\\u00a0"',
    '"' + "a" * 5000 + '"',
    '"e\\u0301\\u2126 \\ud83d\\ude00"',
    '"@entity1 @placeholder XXXXX _ _"',
    "[" * 50 + "]" * 50,
    "[" * 2000 + "]" * 2000,
    '{"a": 1, "a": 2}',
    '["a", null]',
    '[1, "a"]',
    '{"text": "a", "start": -1}',
    '[{"text": "", "start": 0}]',
    '{"__class__": "os.system"}',
)
"""Values in the place of any other."""

NASTY_YAML = (
    *NASTY_JSON[:14],
    "2020-13-45",
    "2001-12-14t21:59:43.10-99:00",
    "190:20:30",
    "0o777777777777777777777777",
    "0b",
    ".inf",
    "!!python/object/apply:os.system ['true']",
    "!!binary 'no base64'",
    "!!binary YQ==",
    "!!timestamp a",
    "!!int a",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "&a [*a]",
    "&a {b: *a}",
    "*nobody",
    "{? [a] : b}",
    "{? {a: b} : c}",
    "[" * 3000,
    "|",
    "'",
    "../../etc/passwd",
    "a.b/c",
    "a b",
    "transformer+nothing",
    "x" * 3000,
    '"\\ud800"',
    '"\\0"',
)

PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc3\x28",
    b"\xe2\x80\xa8",
    b"\r",
    b"\n\n",
    b"\t",
    b'"',
    b'""',
    b",",
    b"{",
    b"[" * 300,
    b"|",
    b"XXXXX",
    b"@placeholder",
    b"@entity" + b"9" * 5000,
    b"21 ",
    b"1 ",
    b"9" * 5000,
    b"option_" + b"9" * 5000,
    b"-0.0",
    b"a" * 70_000,
    "\u0663".encode(),
    "😀".encode(),
)
"""Bytes that are put in anywhere."""

_SLOT = "what stood here"


def mutated(content: bytes, chance: Random) -> bytes:
    """An input after one to four changes.

    Args:
        content: A whole input.
        chance: Where chance comes from.
    """
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = chance.choice(_WAYS)(content, chance)
    return content


def _flip(content: bytes, chance: Random) -> bytes:
    if not content:
        return content
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


def _cut(content: bytes, chance: Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _without(content: bytes, chance: Random) -> bytes:
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:start] + content[end:]


def _again(content: bytes, chance: Random) -> bytes:
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:end] + content[start:end] + content[end:]


def _with_piece(content: bytes, chance: Random) -> bytes:
    place = chance.randint(0, len(content))
    over = chance.choice((0, 0, 1, 4))
    return content[:place] + chance.choice(PIECES) + content[place + over :]


def _number(content: bytes, chance: Random) -> bytes:
    """Binary formats count in fields of 2, 4 or 8 bytes."""
    width = chance.choice((1, 2, 4, 8))
    place = chance.randint(0, len(content))
    value = chance.choice((0, 1, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1)) % 2 ** (8 * width)
    return content[:place] + value.to_bytes(width, "little") + content[place + width :]


def _line(content: bytes, chance: Random) -> bytes:
    """A line is left out, comes twice, or changes places with another."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    way = chance.randrange(3)
    if way == 0:
        del lines[one]
    elif way == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _encoded(content: bytes, chance: Random) -> bytes:
    text = content.decode("utf-8", errors="replace")
    return text.encode(chance.choice(("utf-16", "utf-32", "latin-1", "utf-7", "cp1252")), errors="replace")


def _json(content: bytes, chance: Random) -> bytes:
    """One value of a JSON text, or of one line of JSON Lines, becomes another, goes, or stands twice."""
    try:
        return _json_text(content.decode(), chance).encode("utf-8", errors="surrogatepass")
    except (ValueError, RecursionError):
        pass
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    place = chance.randrange(len(lines))
    try:
        lines[place] = _json_text(lines[place].decode(), chance).encode("utf-8", errors="surrogatepass") + b"\n"
    except (ValueError, RecursionError):
        return content
    return b"".join(lines)


def _json_text(text: str, chance: Random) -> str:
    value = json.loads(text)
    places = list(_places(value))
    if not places:
        return chance.choice(NASTY_JSON)
    holder, key = chance.choice(places)
    way = chance.randrange(4)
    if way == 0:
        del holder[key]
        return json.dumps(value)
    if way == 1 and isinstance(holder, dict):
        kept, holder[key] = holder[key], _SLOT
        new = chance.choice((json.dumps(kept), chance.choice(NASTY_JSON)))
        given = f"{json.dumps(key)}: {json.dumps(kept)}"
        return json.dumps(value).replace(f'{json.dumps(key)}: "{_SLOT}"', f"{given}, {json.dumps(key)}: {new}", 1)
    if way == 2 and isinstance(holder, list):
        holder.insert(chance.randint(0, len(holder)), holder[key])
        return json.dumps(value)
    holder[key] = _SLOT
    return json.dumps(value).replace(f'"{_SLOT}"', chance.choice(NASTY_JSON), 1)


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield value, key
        yield from _places(inner)


_YAML_VALUE = re.compile(rb"(?<=: )[^\n{\[&|>]+$|(?<=[\[,] )[^\n,\]]+|(?<=- )[^\n]+$|^ *[\w.]+(?=:)", re.MULTILINE)


def _yaml(content: bytes, chance: Random) -> bytes:
    """A value or a key of a YAML text becomes another."""
    found = list(_YAML_VALUE.finditer(content))
    if not found:
        return content
    match = chance.choice(found)
    new = chance.choice(NASTY_YAML).encode() if chance.random() < 0.7 else chance.choice(found).group().strip()
    indent = match.group()[: len(match.group()) - len(match.group().lstrip())]
    return content[: match.start()] + indent + new + content[match.end() :]


_WAYS: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _cut, _without, _again, _with_piece, _number, _line, _encoded),
    *(_json, _json, _json, _yaml, _yaml),
)
