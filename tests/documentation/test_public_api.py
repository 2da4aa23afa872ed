"""Every public name of Python has a docstring and a place in the reference."""

import re
from importlib import import_module

from docs._tools import public_api
from documented import DOCS


def test_public_names_can_be_imported_from_where_they_stand():
    for name in public_api.public_names():
        module, _, member = name.rpartition(".")
        assert hasattr(import_module(module), member), name


def test_every_public_name_has_a_docstring():
    assert public_api.undocumented_names() == []


def test_the_reference_has_every_public_module():
    directives = re.findall(r"^::: (\S+)$", (DOCS / "reference/api.md").read_text(), re.MULTILINE)
    assert sorted(directives) == sorted(public_api.PUBLIC_MODULES)


def test_a_name_without_a_docstring_or_an_entry_is_named(tmp_path, monkeypatch):
    module = tmp_path / "mine" / "parts.py"
    module.parent.mkdir()
    module.write_text(
        'class Part:\n    """A part."""\n\n    def join(self): ...\n    def _hide(self): ...\n\n\n'
        'def build():\n    """Build."""\n\n\ndef _hidden(): ...\n'
    )
    (tmp_path / "mine" / "__init__.py").write_text('from mine.parts import build\n\n__all__ = ["build"]\n')
    monkeypatch.setattr(public_api, "SOURCES", tmp_path)
    monkeypatch.setattr(public_api, "PUBLIC_MODULES", ("mine", "mine.parts"))
    public_api._tree.cache_clear()
    assert public_api.public_names() == ["mine.build", "mine.parts.Part", "mine.parts.build"]
    assert public_api.undocumented_names() == ["mine.parts.Part.join"]
    assert public_api.missing_names('<h3 id="mine.build">') == ["mine.parts.Part", "mine.parts.build"]
    public_api._tree.cache_clear()
