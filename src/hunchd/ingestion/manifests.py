"""What manifests and tool settings say of how a project is worked on: each file's reader is pure text → statements.

Values are made of names we know and of versions and numbers, never of free text: a manifest may be a stranger's.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Statement:
    """`confidence` is below 1 where the file only hints at it."""

    key: str
    value: str
    confidence: float = 1.0


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split(", "))


CI: Final = "ci "  # begins the keys of what CI tries: several of its files may tell of it
MOST_TRIED: Final = 8  # versions
_VERSION = re.compile(r"^[\w.*<>=!~^, |+-]{1,60}$")
_NAME = re.compile(r"^[@\w./-]{1,60}$")
_COMMAND_LINE = re.compile(
    r"^\s*-?\s*run:\s*(.+)$|^\s{6,}((?:uv|poetry|cargo|npm|pnpm|yarn|go|make|just|tox|nox|python) .+)$", re.MULTILINE
)
_PUBLISHES = re.compile(
    r"pypi-publish|twine upload|uv publish|(?:npm|pnpm|cargo|changeset) publish|goreleaser|release-plz|release-please"
)
_RELEASE_STEPS = (
    ("tag", r"^\s+tags:"),
    ("release please", r"release-please"),
    ("build", r"\b(?:python -m build|uv build|cargo build|npm run build|pnpm (?:run )?build|goreleaser|docker build)"),
    ("publish to PyPI", r"gh-action-pypi-publish|twine upload|uv publish"),
    ("publish to npm", r"npm publish|pnpm publish|changeset publish"),
    ("publish to crates.io", r"cargo publish|release-plz"),
    ("GitHub release", r"action-gh-release|gh release create|create-release|goreleaser"),
    ("container image", r"docker/build-push-action|docker push"),
)
# Tools by what they do; the order is that in which they are named.
_TESTS = _words(
    "pytest, unittest, nose2, vitest, jest, mocha, ava, tap, node --test, playwright, cypress, cargo nextest, "
    "cargo test, go test, ctest, rspec, minitest, test-unit, phpunit, pest, bats, dotnet test"
)
_LINTERS = _words(
    "ruff, flake8, pylint, eslint, oxlint, biome, clippy, golangci-lint, shellcheck, rubocop, stylelint, markdownlint, "
    "codespell, bandit, checkstyle, spotbugs, phpstan, psalm"
)
_FORMATTERS = _words(
    "ruff format, ruff-format, black, isort, prettier, oxfmt, dprint, rustfmt, cargo fmt, gofmt, gofumpt, goimports, "
    "clang-format, shfmt, spotless, spring-javaformat, biome format, taplo, php-cs-fixer, pint, terraform fmt"
)
_CHECKERS = _words("mypy, pyright, basedpyright, pyrefly, ty check, pytype, tsc, vue-tsc, tsgo")
_TARGETS = _words("check, test, tests, lint, fmt, format, typecheck, types, build, dev, run, docs, bench, release, ci")
BY_PURPOSE = (("tests", _TESTS), ("lint", _LINTERS), ("format", _FORMATTERS), ("types", _CHECKERS))


def statements(path: str, text: str) -> Iterator[Statement]:
    """What `text`, the content of the file at `path`, states. A file that cannot be read states nothing."""
    reader = reader_of(path)
    if reader is None:
        return
    try:
        yield from reader(text)
    except (ValueError, TypeError, AttributeError, KeyError, configparser.Error):
        return  # not what its name promises: a template, another version, a joke


def reader_of(path: str) -> Callable[[str], Iterator[Statement]] | None:
    """The reader for files of this name and place."""
    name = path.rpartition("/")[2]
    return next((reader for pattern, reader in _READERS if fnmatch(path if "/" in pattern else name, pattern)), None)


# Settings that hatchling and pdm-backend read by themselves: pip and uv build such projects as well.
_BACKEND: Final[Mapping[str, Set[str]]] = {
    "hatch": frozenset({"build", "metadata", "version"}),
    "pdm": frozenset({"build", "version"}),
}


def _pyproject(text: str) -> Iterator[Statement]:
    told = tomllib.loads(text)
    project, tool = told.get("project", {}), told.get("tool", {})
    yield from _version(
        "python", project.get("requires-python") or tool.get("poetry", {}).get("dependencies", {}).get("python")
    )
    yield from _named("build backend", told.get("build-system", {}).get("build-backend", "").partition(".")[0])
    manager = next((name for name in ("uv", "poetry", "pdm", "hatch", "pixi") if _manages(name, tool)), None)
    yield from _named("package manager", manager)
    if "pytest" in tool:
        yield Statement("tests", "pytest")
    if "ruff" in tool:
        yield from _ruff(tool["ruff"])
    if "black" in tool:
        yield from _formatter("black", tool["black"].get("line-length"))
    elif "isort" in tool:
        yield Statement("format", "isort", 0.8)
    yield from _type_checker(tool)
    if "tox" in tool:
        yield from _tox_environments(tool["tox"].get("env_list") or tool["tox"].get("envlist") or ())
    groups = _dependency_names(told)
    for tests in (name for name in ("pytest", "nose2") if name in groups and "pytest" not in tool):
        yield Statement("tests", tests, 0.8)
    if "towncrier" in tool:
        yield Statement("changelog", "a fragment per change, built with towncrier")
    for name in ("commitizen", "semantic_release", "bumpversion"):
        if name in tool:
            yield Statement("release", name.replace("_", "-"), 0.9)


def _manages(name: str, tool: Mapping[str, Any]) -> bool:
    """Whether these settings are more than those of the build backend that has the manager's name."""
    return bool(name in tool and (name not in _BACKEND or set(tool[name]) - _BACKEND[name]))


def _dependency_names(told: Mapping[str, Any]) -> frozenset[str]:
    groups = [told.get("project", {}).get("dependencies", ())]
    groups += list(told.get("project", {}).get("optional-dependencies", {}).values())
    groups += list(told.get("dependency-groups", {}).values())
    lines = [line for group in groups for line in group if isinstance(line, str)]
    return frozenset(re.split(r"[^\w.-]", line, maxsplit=1)[0].lower() for line in lines)


def _type_checker(tool: Mapping[str, Any]) -> Iterator[Statement]:
    found = [name for name in ("mypy", "pyright", "basedpyright", "pyrefly", "ty") if name in tool]
    strict = tool.get("mypy", {}).get("strict") is True or tool.get("pyright", {}).get("typeCheckingMode") == "strict"
    if found:
        yield Statement("types", ", ".join(found) + (" (strict)" if strict else ""))


def _ruff(told: Mapping[str, Any]) -> Iterator[Statement]:
    rules = told.get("lint", told).get("select") or told.get("lint", told).get("extend-select") or ()
    names = [rule for rule in rules if isinstance(rule, str) and re.fullmatch(r"[A-Z]{1,5}\d*|ALL", rule)]
    shown = f" ({', '.join(names[:12])}{', …' if len(names) > 12 else ''})" if names else ""
    yield Statement("lint", f"ruff{shown}")
    if "format" in told:
        quotes = told["format"].get("quote-style")
        yield Statement("format", "ruff format" + (f", {quotes} quotes" if quotes in ("single", "double") else ""))
    yield from _width(told.get("line-length"))


def _formatter(name: str, width: object) -> Iterator[Statement]:
    yield Statement("format", name)
    yield from _width(width)


def _width(width: object) -> Iterator[Statement]:
    if isinstance(width, int) and 40 <= width <= 400:
        yield Statement("line length", str(width))


def _ruff_file(text: str) -> Iterator[Statement]:
    yield from _ruff(tomllib.loads(text))


def _ini(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    return parser


def _setup_cfg(text: str) -> Iterator[Statement]:
    told = _ini(text)
    yield from _version("python", told.get("options", "python_requires", fallback=None))
    if told.has_section("tool:pytest"):
        yield Statement("tests", "pytest")
    if told.has_section("flake8"):
        yield Statement("lint", "flake8")
        yield from _width(_number(told.get("flake8", "max-line-length", fallback="")))
    if told.has_section("mypy"):
        yield Statement(
            "types", "mypy" + (" (strict)" if told.get("mypy", "strict", fallback="").lower() == "true" else "")
        )


def _setup_py(text: str) -> Iterator[Statement]:
    found = re.search(r"python_requires\s*=\s*[\"']([^\"']+)", text)
    yield from _version("python", found[1] if found else None)


def _tox(text: str) -> Iterator[Statement]:
    told = _ini(text)
    if not told.has_section("tox"):
        return
    wanted = told.get("tox", "env_list", fallback="") or told.get("tox", "envlist", fallback="")
    yield from _tox_environments([line for line in re.split(r"[\s,]+(?![^{]*\})", wanted or "") if line])


def _tox_environments(names: Sequence[Any]) -> Iterator[Statement]:
    shown = [name for name in names if isinstance(name, str) and re.fullmatch(r"[\w.{},\[\]-]{1,40}", name)]
    yield Statement(
        "run everything", "tox" + (f" ({', '.join(shown[:8])}{', …' if len(shown) > 8 else ''})" if shown else "")
    )


def _nox(text: str) -> Iterator[Statement]:
    sessions = re.findall(r"@nox\.session[^\n]*\n(?:@[^\n]*\n)*def (\w+)", text)
    yield Statement("run everything", "nox" + (f" ({', '.join(sessions[:8])})" if sessions else ""))


def _package_json(text: str) -> Iterator[Statement]:
    told = json.loads(text)
    yield from _version("node", told.get("engines", {}).get("node"))
    manager = str(told.get("packageManager", ""))
    if re.fullmatch(r"(npm|pnpm|yarn|bun)@[\w.+-]{1,40}", manager):
        yield Statement("package manager", manager.partition("+")[0].replace("@", " "))
    scripts = {str(name): str(line) for name, line in told.get("scripts", {}).items()}
    needed = {**told.get("dependencies", {}), **told.get("devDependencies", {})}
    yield from _scripts(scripts, needed, manager.partition("@")[0] or "npm")
    if "typescript" in needed and re.fullmatch(r"[\^~]?\d[\w.-]*", str(needed["typescript"])):
        yield Statement("typescript", str(needed["typescript"]))
    if told.get("type") == "module":
        yield Statement("modules", "ES modules")
    if "@changesets/cli" in needed:
        yield Statement("release", "changesets")


def _scripts(scripts: Mapping[str, str], needed: Mapping[str, Any], program: str) -> Iterator[Statement]:
    """What the scripts for testing, linting, … call, by the tools we know, and how they are called."""
    for (key, names), script in zip(BY_PURPOSE, ("test", "lint", "format", "typecheck"), strict=True):
        lines = " ; ".join(line for name, line in scripts.items() if name.startswith(script) or name == "check")
        found = [name for name in names if _mentions(lines, name) or (name in needed and key == "tests")]
        tools = ", ".join(found[:4])
        run = "" if program == "yarn" or script == "test" else "run "
        command = f"`{program} {run}{script}`" if script in scripts else ""
        if tools or command:
            yield Statement(key, f"{tools} ({command})" if tools and command else tools or command)


def _prettier(text: str) -> Iterator[Statement]:
    found = {name: match[1] for name in ("semi", "singleQuote", "printWidth", "tabWidth", "useTabs", "trailingComma")
             if (match := re.search(rf"[\"']?\b{name}[\"']?\s*:\s*[\"']?(\w+)", text))}  # fmt: skip
    style = [
        {"false": "no semicolons", "true": "semicolons"}.get(found.get("semi", ""), ""),
        {"true": "single quotes", "false": "double quotes"}.get(found.get("singleQuote", ""), ""),
        f"trailing commas: {found['trailingComma']}" if found.get("trailingComma") in ("none", "es5", "all") else "",
    ]
    shown = ", ".join(part for part in style if part)
    yield Statement("format", "prettier" + (f" ({shown})" if shown else ""))
    yield from _width(_number(found.get("printWidth", "")))


def _fixed(key: str, value: str, confidence: float = 1.0) -> Callable[[str], Iterator[Statement]]:
    """For files whose being there says it all."""
    return lambda _text: iter((Statement(key, value, confidence),))


def _cargo(text: str) -> Iterator[Statement]:
    told = tomllib.loads(text)
    package = {**told.get("workspace", {}).get("package", {}), **told.get("package", {})}
    edition, oldest = package.get("edition"), package.get("rust-version")
    if isinstance(edition, str) or isinstance(oldest, str):
        shown = [
            f"{oldest} or newer" if isinstance(oldest, str) else "",
            f"edition {edition}" if isinstance(edition, str) else "",
        ]
        yield from _version("rust", ", ".join(part for part in shown if part))
    members = told.get("workspace", {}).get("members")
    if isinstance(members, list) and members:
        yield Statement("workspace", f"cargo, {len(members)} members")
    yield Statement("tests", "cargo test", 0.8)
    lints = {**told.get("lints", {}), **told.get("workspace", {}).get("lints", {})}
    if "clippy" in lints:
        yield Statement("lint", "clippy")


def _rustfmt(text: str) -> Iterator[Statement]:
    yield Statement("format", "cargo fmt")
    yield from _width(tomllib.loads(text).get("max_width"))


def _go_mod(text: str) -> Iterator[Statement]:
    found = re.search(r"^go (\d[\w.]*)", text, re.MULTILINE)
    yield from _version("go", f"{found[1]} or newer" if found else None)
    module = re.search(r"^module (\S+)", text, re.MULTILINE)
    yield from _named("module", module[1] if module else None)
    yield Statement("tests", "go test" + (" with testify" if "stretchr/testify" in text else ""), 0.8)
    yield Statement("format", "gofmt", 0.8)


def _gradle(text: str) -> Iterator[Statement]:
    yield Statement("build", "gradle")
    found = re.search(
        r"(?:JavaLanguageVersion\.of\(|(?:source|target)Compatibility\s*=\s*(?:JavaVersion\.VERSION_)?[\"']?)(\d[\d._]*)",
        text,
    )
    yield from _version("java", found[1].replace("_", ".") if found else None)
    if re.search(r"useJUnitPlatform|junit-jupiter", text):
        yield Statement("tests", "junit 5")
    yield from _java_tools(text)


def _java_tools(text: str) -> Iterator[Statement]:
    """The plugins of a Java build that hold its style, however the build is written."""
    if "spotless" in text:
        yield Statement("format", "spotless")
    elif re.search(r"io\.spring\.javaformat|spring-javaformat", text):
        yield Statement("format", "spring-javaformat")
    found = [name for name in ("checkstyle", "spotbugs") if _mentions(text, name) or f"maven-{name}-plugin" in text]
    if found:
        yield Statement("lint", ", ".join(found), 0.9)


def _maven(text: str) -> Iterator[Statement]:
    yield Statement("build", "maven")
    found = re.search(
        r"<(?:maven\.compiler\.release|maven\.compiler\.source|java\.version|release)>\s*([\d.]+)\s*<", text
    )
    yield from _version("java", found[1] if found else None)
    name = re.search(r"<artifactId>(junit(?:-jupiter)?|testng)[\w-]*</artifactId>", text)
    if name:
        yield Statement("tests", "junit 5" if "jupiter" in name[1] else name[1])
    yield from _java_tools(text)


def _composer(text: str) -> Iterator[Statement]:
    told = json.loads(text)
    yield from _version("php", told.get("require", {}).get("php"))
    yield Statement("package manager", "composer", 0.9)
    needed = {name.rpartition("/")[2] for name in (*told.get("require-dev", {}), *told.get("require", {}))}
    yield from _needed(needed)


def _gems(text: str) -> Iterator[Statement]:
    """A Gemfile or a gemspec."""
    found = re.search(r"""(?:required_ruby_version\s*=|^ruby)\s*["']([\d.<>=!~ ]+)["']""", text, re.MULTILINE)
    yield from _version("ruby", found[1] if found else None)
    gems = re.findall(r"""(?:^\s*gem|dependency)[\s(]+["']([\w-]+)["']""", text, re.MULTILINE)
    yield from _needed({"rspec" if gem.startswith("rspec-") else gem for gem in gems})


def _gemfile(text: str) -> Iterator[Statement]:
    yield Statement("package manager", "bundler", 0.9)
    yield from _gems(text)


def _needed(names: Set[str]) -> Iterator[Statement]:
    """What the tools that a project depends on are for."""
    for key, known in BY_PURPOSE:
        found = [name for name in known if name in names]
        if found:
            yield Statement(key, ", ".join(found[:4]), 0.9)


def _terraform(text: str) -> Iterator[Statement]:
    found = re.search(r'^\s*required_version\s*=\s*"([^"]+)"', text, re.MULTILINE)
    yield from _version("terraform", found[1] if found else None)
    providers = re.findall(
        r'^\s*([\w-]{1,40})\s*=\s*\{[^{}]*?\bversion\s*=\s*"([\d.<>=!~ ,]+)"[^{}]*\}', text, re.MULTILINE
    )
    if providers:
        yield Statement("providers", ", ".join(f"{name} {version}" for name, version in providers[:6]))


def _conda(text: str) -> Iterator[Statement]:
    if not re.search(r"^dependencies:", text, re.MULTILINE):
        return
    yield Statement("package manager", "conda", 0.9)
    found = re.search(r"^\s*-\s*python\s*([<>=!~][\d.*<>=!~, ]*?)\s*(?:#.*)?$", text, re.MULTILINE)
    yield from _version("python", found[1].lstrip("=") if found else None)


def _editorconfig(text: str) -> Iterator[Statement]:
    told = _ini("[__top__]\n" + text)
    every = {key: value for section in ("*",) if told.has_section(section) for key, value in told.items(section)}
    style, size = every.get("indent_style"), every.get("indent_size")
    if style == "tab":
        yield Statement("indent", "tabs")
    elif size and size.isdigit():
        yield Statement("indent", f"{size} spaces")
    yield from _width(_number(every.get("max_line_length") or ""))


def _pre_commit(text: str) -> Iterator[Statement]:
    hooks = list(dict.fromkeys(re.findall(r"^\s*-?\s*id:\s*[\"']?([\w.-]{1,40})[\"']?\s*$", text, re.MULTILINE)))
    if not hooks:
        return
    told = ", ".join(hooks[:10]) + (f" and {len(hooks) - 10} more" if len(hooks) > 10 else "")
    yield Statement("before a commit", f"pre-commit: {told}")
    for key, names in (("lint", _LINTERS), ("format", _FORMATTERS), ("types", _CHECKERS)):
        found = [name for name in names if name in hooks or (key == "format" and f"{name}-format" in hooks)]
        if found:
            yield Statement(key, ", ".join(found[:4]), 0.7)


def _workflow(text: str) -> Iterator[Statement]:
    """A CI workflow: the versions it tries, the systems it runs on, the tools it calls."""
    for language in ("python", "node", "go", "java", "ruby", "php"):
        found = re.search(rf"^\s*{language}(?:-version)?s?:\s*\[([^\]]+)\]", text, re.MULTILINE)
        versions = re.findall(r"[\"']?(\d[\w.]*)[\"']?", found[1]) if found else []
        if versions:
            yield Statement(f"{CI}{language}", ", ".join(versions[:MOST_TRIED]), 0.9)
    systems = [name for name in ("ubuntu", "macos", "windows") if f"{name}-" in text]
    if systems:
        yield Statement(f"{CI}systems", ", ".join(systems), 0.9)
    lines = "\n".join(found[1] or found[2] for found in _COMMAND_LINE.finditer(text))
    for key, names in BY_PURPOSE:
        tools = [name for name in names if _mentions(lines, name)]
        if tools:
            yield Statement(key, ", ".join(tools[:3]), 0.6)


def _workflow_file(text: str) -> Iterator[Statement]:
    """One that publishes tells the steps of a release; any other what is checked."""
    if not _PUBLISHES.search(text):
        yield from _workflow(text)
        return
    steps = [step for step, pattern in _RELEASE_STEPS if re.search(pattern, text, re.MULTILINE)]
    if len(steps) > 1 or "publish" in steps[0]:
        yield Statement("release", " → ".join(steps), 0.8)


def _targets(program: str, pattern: str) -> Callable[[str], Iterator[Statement]]:
    def read(text: str) -> Iterator[Statement]:
        found = set(re.findall(pattern, text, re.MULTILINE))
        known = [name for name in _TARGETS if name in found]
        if known:
            yield Statement("commands", ", ".join(f"`{program} {name}`" for name in known[:8]))

    return read


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", text) is not None


def _version(key: str, value: object) -> Iterator[Statement]:
    if isinstance(value, str) and _VERSION.match(value.strip()) and any(map(str.isdigit, value)):
        yield Statement(key, value.strip())


def _named(key: str, value: str | None) -> Iterator[Statement]:
    if value and _NAME.match(value):
        yield Statement(key, value)


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdigit() else None


# Earlier patterns win; those with "/" are for paths, the others for names.
_READERS: tuple[tuple[str, Callable[[str], Iterator[Statement]]], ...] = (
    ("pyproject.toml", _pyproject),
    ("setup.cfg", _setup_cfg),
    ("setup.py", _setup_py),
    ("ruff.toml", _ruff_file),
    (".ruff.toml", _ruff_file),
    ("tox.ini", _tox),
    ("pytest.ini", _fixed("tests", "pytest")),
    ("mypy.ini", _fixed("types", "mypy")),
    ("noxfile.py", _nox),
    ("package.json", _package_json),
    (".prettierrc*", _prettier),
    ("prettier.config.*", _prettier),
    ("eslint.config.*", _fixed("lint", "eslint")),
    (".eslintrc*", _fixed("lint", "eslint")),
    ("biome.json*", _fixed("lint", "biome")),
    ("vitest.config.*", _fixed("tests", "vitest")),
    ("jest.config.*", _fixed("tests", "jest")),
    ("Cargo.toml", _cargo),
    ("rustfmt.toml", _rustfmt),
    (".rustfmt.toml", _rustfmt),
    ("clippy.toml", _fixed("lint", "clippy")),
    ("go.mod", _go_mod),
    (".golangci.y*ml", _fixed("lint", "golangci-lint")),
    ("build.gradle*", _gradle),
    ("pom.xml", _maven),
    ("composer.json", _composer),
    ("phpunit.xml*", _fixed("tests", "phpunit")),
    ("phpstan.neon*", _fixed("lint", "phpstan")),
    (".php-cs-fixer*.php", _fixed("format", "php-cs-fixer")),
    ("Gemfile", _gemfile),
    ("*.gemspec", _gems),
    (".rspec", _fixed("tests", "rspec")),
    (".rubocop.yml", _fixed("lint", "rubocop")),
    ("versions.tf", _terraform),
    ("environment.yml", _conda),
    (".editorconfig", _editorconfig),
    (".pre-commit-config.yaml", _pre_commit),
    ("Makefile", _targets("make", r"^([A-Za-z][\w-]*)\s*:(?!=)")),
    ("justfile", _targets("just", r"^@?([A-Za-z][\w-]*)[^:=\n]*:(?!=)")),
    ("Justfile", _targets("just", r"^@?([A-Za-z][\w-]*)[^:=\n]*:(?!=)")),
    ("uv.lock", _fixed("package manager", "uv")),
    ("poetry.lock", _fixed("package manager", "poetry")),
    ("pnpm-lock.yaml", _fixed("package manager", "pnpm")),
    ("yarn.lock", _fixed("package manager", "yarn")),
    ("package-lock.json", _fixed("package manager", "npm")),
    (".github/workflows/*.y*ml", _workflow_file),
    (".gitlab-ci.yml", _workflow),
)
