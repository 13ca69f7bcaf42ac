"""Classification of files by path: source, test, documentation, example, generated and others."""

from __future__ import annotations

import re
from enum import IntEnum


class Role(IntEnum):
    """Purpose of a file; the index stores the numbers of the members."""

    SOURCE = 0
    TEST = 1
    DOCS = 2
    EXAMPLE = 3
    GENERATED = 4
    VENDORED = 5
    CONFIG = 6
    CHANGELOG = 7


_VENDORED_PATH = re.compile(
    r"(^|/)(vendor(ed)?|_vendor|third[_-]?party|3rd[_-]?party|node_modules|bower_components|external|extern)(/|$)", re.I
)
_GENERATED_PATH = re.compile(
    r"(^|/)(dist|__generated__|generated|snapshots?|__snapshots__)(/|$)|[._]pb2?\.|_pb2(_grpc)?\.py|\.(snap|map|lock)$"
    r"|\.min\.\w+$|(^|/)(package-lock\.json|pnpm-lock\.yaml|go\.sum)$|_generated\.\w+$|\.gen\.\w+$|\.g\.dart$",
    re.I,
)
# Catalogues of translated messages. They repeat texts of the sources, once for each language.
_TRANSLATION = re.compile(
    r"\.(po|pot|mo|xliff?|xlf|arb|ftl|strings|resx)$"
    r"|(^|/)(locales?|translations?|i18n|l10n|lang|langs|LC_MESSAGES)/(.*/)?[^/]+\.(json5?|ya?ml|properties|php|toml)$",
    re.I,
)
_TEST = re.compile(
    r"(?i:(^|/)(tests?|specs?|__tests__|testing|testdata|test[_-]data|test[_-]suite|e2e|fixtures|trybuild|ui-tests?)(/|$))"
    r"|(?i:(^|/)(test[_-][^/]*|conftest)\.\w+$|[_.\-](tests?|spec|e2e)\.\w+$)|[A-Za-z\d](Tests?|Spec|TestCase|IT)\.\w+$"
    r"|(?i:(^|/)[\w.-]*[_-]tests?(/|$))|\.Tests?/|(^|/)src/test/"
)
_EXAMPLE = re.compile(
    r"(?i)(^|/)_?(examples?|samples?|demos?|playground|tutorials?)(/|$)"
    r"|^((?!(src|lib|internal|pkg)/)[^/]+/)*_?(bench(es|marks?)?|benchmarking|perf|fuzz\w*)(/|$)"
    r"|(^|/)(example|bench|demo)s?[_.\-][^/]*$|[_-](bench|benchmark|example)\.\w+$|(^|/)installer/templates/"
)
_CHANGELOG = re.compile(
    r"(?i)(^|/)(change(s|log)?|history|news|releases|release[_-]?notes)([_.-][^/]*)?(\.(md|rst|txt))?$"
)
_DOCS = re.compile(
    r"(?i)\.(md|mdx|rst|txt|adoc|markdown|mdown)$|(^|/)(docs?|documentation|guides?|website|site|wiki|man)(/|$)"
    r"|(^|/)(readme|license|licence|copying|authors|contributors)[^/]*$|\.ipynb$"
)
_CONFIG = re.compile(
    r"(?i)\.(json5?|jsonc|ya?ml|toml|ini|cfg|conf|xml|properties|editorconfig|csproj|svg|css|scss|less|html?)$"
    r"|(^|/)\.[^/]+(/|$)|(^|/)(dockerfile|makefile|justfile|cmakelists\.txt|gemfile|rakefile|pom\.xml)[^/]*$"
)


def classify_role(path: str) -> Role:
    """Return the role of a file, told by its path."""
    for pattern, role in _RULES:
        if pattern.search(path):
            return role
    return Role.SOURCE


_RULES = (
    (_VENDORED_PATH, Role.VENDORED),
    (_GENERATED_PATH, Role.GENERATED),
    (_TRANSLATION, Role.CONFIG),
    (_TEST, Role.TEST),
    (_CHANGELOG, Role.CHANGELOG),
    (_EXAMPLE, Role.EXAMPLE),
    (_DOCS, Role.DOCS),
    (_CONFIG, Role.CONFIG),
)
