"""Glossary of abbreviations for long words in prose.

Developers use these short forms anyway. Names, paths and code are left unchanged. Each short form stands for exactly
one word, and is used only in a text that does not already contain it. The long words can therefore be restored
exactly with the glossary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

# Word → short form. No form is an English word that prose about software is likely to use in its own sense.
GLOSSARY: Final[Mapping[str, str]] = {
    "administrator": "admin", "application": "app", "applications": "apps", "architecture": "arch",
    "arguments": "args", "asynchronous": "async", "attribute": "attr", "attributes": "attrs",
    "authentication": "authn", "authorization": "authz", "backwards": "bwd",
    "compatibility": "compat", "configuration": "cfg", "configurations": "cfgs",
    "database": "db", "databases": "dbs", "dependencies": "deps", "dependency": "dep",
    "development": "dev", "directories": "dirs", "directory": "dir", "distribution": "dist",
    "documentation": "docs", "environment": "env", "environments": "envs", "exception": "exc", "exceptions": "excs",
    "execution": "exec", "expression": "expr", "expressions": "exprs",
    "implementation": "impl", "implementations": "impls",
    "integration": "integ", "internationalization": "i18n", "libraries": "libs", "library": "lib",
    "maximum": "max", "message": "msg", "messages": "msgs", "minimum": "min", "operations": "ops",
    "package": "pkg", "packages": "pkgs", "parameter": "param", "parameters": "params",
    "performance": "perf", "production": "prod", "repositories": "repos",
    "repository": "repo", "requirements": "reqs", "specification": "spec", "statistics": "stats",
    "synchronous": "sync", "transaction": "txn",
    "transactions": "txns", "utilities": "utils", "variable": "var", "variables": "vars", "version": "ver",
    "versions": "vers",
}  # fmt: skip
_EXPANSIONS: Final = {short: word for word, short in GLOSSARY.items()}
# Part of a text that must not change: code in backticks, quotations, and anything that looks like a name or a path.
_PROTECTED_TEXT = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|\S*[/\\_@#:.=<>(){}\[\]$&|~+*^%\d]\S*\w|\S*[a-z][A-Z]\S*")
_WORD = re.compile(r"(?<![\w'/-])[a-z]+(?![\w'/-])")
_SHORT_FORM = re.compile(
    r"(?<![\w'/-])(?:" + "|".join(map(re.escape, sorted(_EXPANSIONS, key=len, reverse=True))) + r")(?![\w'/-])"
)


def abbreviate(text: str) -> str:
    """Abbreviate the lower-case words of `text` that are in the glossary.

    A word stays as it is if `text` already contains its short form.
    """
    used_forms = set(_SHORT_FORM.findall(text))

    def abbreviate_word(word: re.Match[str]) -> str:
        form = GLOSSARY.get(word[0])
        return form if form is not None and form not in used_forms else word[0]

    return _map_prose(text, lambda prose: _WORD.sub(abbreviate_word, prose))


def find_abbreviations(shorter: str, text: str) -> dict[str, str]:
    """Find the abbreviations in `shorter` that `text` does not contain.

    Returns a mapping from each short form to the word it stands for.
    """
    used_forms = set(_SHORT_FORM.findall(text))
    return {form: _EXPANSIONS[form] for form in dict.fromkeys(_SHORT_FORM.findall(shorter)) if form not in used_forms}


def _map_prose(text: str, change: Callable[[str], str]) -> str:
    parts, at = list[str](), 0
    for protected_match in _PROTECTED_TEXT.finditer(text):
        parts += [change(text[at : protected_match.start()]), protected_match[0]]
        at = protected_match.end()
    parts.append(change(text[at:]))
    return "".join(parts)
