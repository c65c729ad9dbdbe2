"""A value -> YAML 1.2 text that reads as the same value."""

from __future__ import annotations

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes YAML 1.1; text that 1.2 reads as a number is quoted, though 1.1 does not: 1.5e9."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is that of the base
        """Write a value that stands twice out twice."""
        return True

    def text(self, text: str) -> yaml.ScalarNode:
        """Quote text that begins as a number does."""
        style = '"' if text[:1] in "+-.0123456789" else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.text)


def yaml_of(value: Any) -> str:
    """Write a value of JSON's kinds, keys in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
