"""Mask credentials: what is logged, tracked or printed has three stars in their place.

A name looks like a credential's where one of its parts is a word such as ``password`` or ``token``, or two of them are
``api_key`` and the like: ``hf_token`` does, ``tokens_per_batch`` and ``tokenizer`` do not.
"""

import os
import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
SHORTEST = 8
"""Characters of a value in the environment that is looked for in texts: a shorter one stands in any text by chance."""
WORKING_FOLDER = "PWD"
"""Environment variable that is named like a password, and holds the path of the shell's folder."""

# The telling word ends a name, alone or with a last part such as id, value or key.
_NAME = (
    r"(?:[\w.-]*[._-])?(?:token|password|passwd|passphrase|pwd|secret|secrets|credential|credentials|authorization"
    r"|signature|sig|(?:api|access|private|secret|account|auth|encryption)[._-]?key)(?:[._-](?:id|value|key))?"
)
_LOOKS_LIKE_ONE = re.compile(_NAME, re.IGNORECASE)
# Camel case is split before the match, so that accessKey is read as access_Key.
_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
# A comparison, as in a page's scripts, assigns nothing.
_ASSIGNED = re.compile(rf"(?<![\w.-])({_NAME})=(?!=)[^\s&,;'\"]+", re.IGNORECASE)


def is_credential(name: str) -> bool:
    """Tell if a name looks like that of a credential."""
    return _LOOKS_LIKE_ONE.fullmatch(_CAPITALS.sub("_", name)) is not None


def masked(value: Any) -> Any:
    """Mask credentials in parameters at any depth: by their names, in addresses, and those of the environment."""
    if isinstance(value, Mapping):
        return {
            key: MASK if is_credential(str(key)) and entry not in (None, "") else masked(entry)
            for key, entry in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked(entry) for entry in value]
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    """Mask credentials in a text: the user and password of addresses, values that are assigned to a credential's name,
    and values of environment variables that are named like credentials."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and name != WORKING_FOLDER and is_credential(name):
            text = text.replace(value, MASK)
    return _ASSIGNED.sub(rf"\1={MASK}", _IN_ADDRESS.sub(MASK, text))
