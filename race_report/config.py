"""What a project sets for its reports: `[tool.race]` in pyproject.toml, and the options that go before it."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from race_report.finding import Severity
from race_report.rules import BY_CODE, BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from race_report.finding import Finding, Rule
    from race_report.validation import Result

_TABLE = b"race"

T = TypeVar("T")


class ConfigError(ValueError):
    """A setting that means nothing; the message says which and what would."""


class Config(NamedTuple):
    """Which findings are shown, and how grave they are. What a report reaches as its level does not depend on it."""

    select: tuple[str, ...] = ()
    """Beginnings of codes; none means all."""
    ignore: Mapping[str, str] = MappingProxyType({})
    """Reasons by code: findings of these are counted and not shown."""
    severity: Mapping[str, Severity] = MappingProxyType({})
    """Severities by code, where they differ from the rule's own."""

    def applied(self, result: Result) -> Result:
        """Give a result with the findings that are shown, and the number of those that were ignored.

        What keeps a file from being read is always shown.
        """
        if not (self.select or self.ignore or self.severity):
            return result
        shown = []
        ignored: dict[str, int] = {}
        for finding in result.findings:
            if finding.code in self.ignore:
                ignored[finding.code] = ignored.get(finding.code, 0) + 1
            elif not self.select or finding.code.startswith(self.select) or _is_always_shown(finding):
                severity = self.severity.get(finding.code, finding.severity)
                shown.append(finding if severity is finding.severity else finding._replace(severity=severity))
        return result._replace(findings=tuple(shown), ignored=ignored)


def _is_always_shown(finding: Finding) -> bool:
    """Tell whether a finding keeps the rules from running, or is a demand of the same command line."""
    return _stops_the_rules(BY_CODE[finding.code]) or finding.code == "RACE801"


def _stops_the_rules(rule: Rule) -> bool:
    """Tell whether a rule is of reading or structure: behind such an error nothing else of a report is checked."""
    return rule.severity is Severity.ERROR and rule.code.startswith("RACE0")


def read_config(folder: str, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Config:
    """Give the settings of the project that a folder is in, and of the command line, which go before.

    Args:
        folder: where to look for pyproject.toml, and above.
        select: beginnings of codes, or names of rules.
        ignore: CODE=reason each.

    Raises:
        ConfigError: a setting means nothing.

    """
    path, table = _project_table(folder)
    where = f"{path}, [tool.race]"
    known = {"select", "ignore", "severity"}
    unknown = sorted(table.keys() - known)
    if unknown:
        raise ConfigError(f'{where}: no setting "{unknown[0]}"; there are {", ".join(sorted(known))}')
    selected = tuple(map(_selection, select or _texts(table.get("select", []), f"{where}, select")))
    reasons = _by_rule(table, "ignore", where, _reason)
    given: dict[str, str] = {}
    for item in ignore:
        name, _, reason = item.partition("=")
        _set(given, name, "--ignore", _reason(name, reason))
    severities = _by_rule(table, "severity", where, _severity)
    return Config(select=selected, ignore=reasons | given, severity=severities)


def _selection(text: str) -> str:
    """Give the beginning of the codes that are selected: as given, or the code of a rule by its name."""
    rule = BY_NAME.get(text.lower())
    begin = text.upper() if rule is None else rule.code
    if not any(code.startswith(begin) for code in BY_CODE):
        raise ConfigError(f'select: no code begins with "{text}", and no rule is named so; race rules lists them')
    return begin


def _by_rule(table: dict[str, Any], key: str, where: str, read: Callable[[str, Any], T]) -> dict[str, T]:
    """Read a table of settings by rule, of which each may stand once, by its code or its name."""
    settings: dict[str, T] = {}
    for name, value in _table(table.get(key, {}), f"{where}, {key}").items():
        _set(settings, name, f"{where}, {key}", read(name, value))
    return settings


def _set(settings: dict[str, T], name: str, where: str, value: T) -> None:
    rule = _ignorable(name, where)
    if rule.code in settings:
        raise ConfigError(f"{where}: {rule.code} and {rule.name} are one rule, which is set twice")
    settings[rule.code] = value


def _project_table(folder: str) -> tuple[str, dict[str, Any]]:
    """Find the nearest pyproject.toml that has settings for us."""
    here = os.path.abspath(folder)
    while True:
        path = os.path.join(here, "pyproject.toml")
        if os.path.isfile(path):
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except OSError:
                data = b""
            table = _parsed(path, data) if _TABLE in data else {}
            if table:
                return path, table
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return "", {}
        here = above


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return _table(table.get("tool", {}).get("race", {}), f"{path}, [tool.race]")


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: a table should stand here")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}: a list of codes should stand here")
    return tuple(value)


def _ignorable(name: str, where: str) -> Rule:
    rule = BY_CODE.get(name) or BY_NAME.get(name)
    if rule is None:
        raise ConfigError(f'{where}: no rule "{name}"; race rules lists them')
    if _stops_the_rules(rule):
        raise ConfigError(f"{where}: {rule.code} {rule.name} keeps a file from being checked, and is always an error")
    return rule


def _reason(name: str, reason: Any) -> str:
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f'{name} is ignored without a reason: write {name}="why", which is printed')
    return reason.strip()


def _severity(name: str, word: Any) -> Severity:
    try:
        return Severity(word)
    except ValueError as error:
        raise ConfigError(f'severity of {name}: "{word}" is none of error, warning, note') from error
