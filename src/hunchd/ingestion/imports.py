"""What a file imports, as strings, and which files of the project those strings mean."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from hunchd.domain.code import FileOutline

_PY_FROM = re.compile(r"from\s+(\.*\s*[\w.]*)\s+import\s+(.*)", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_PHP_USE = re.compile(r"use\s+(?:function\s+|const\s+)?([^;]+)")
_JAVA = re.compile(r"import\s+(?:static\s+)?([\w.]+)")
_CSHARP = re.compile(r"using\s+(?:static\s+)?(?:\w+\s*=\s*)?([\w.]+)")
_QUOTED = re.compile(r"""['"]([^'"]+)['"]""")


def written_imports(language: str, text: str) -> Iterator[str]:
    """The import strings in `text`, the source of one import statement (or of its path) in `language`."""
    reader = _READERS.get(language)
    return reader(text) if reader else iter((text.strip().strip("\"'`<>"),))


def _python(text: str) -> Iterator[str]:
    text = _COMMENT.sub("", text).replace("\\\n", " ")
    found = _PY_FROM.match(text)
    if not found:
        for part in text.removeprefix("import").split(","):
            yield part.split(" as ")[0].strip()
        return
    module = "".join(found[1].split())
    yield module
    for part in found[2].strip().strip("()").split(","):
        name = part.split(" as ")[0].strip()
        if name and name != "*":
            yield f"{module}{'' if module.endswith('.') else '.'}{name}"


def _rust(text: str) -> Iterator[str]:
    """`a::{b, c::{self, d}}` → a::b, a::c, a::c::d. Iterative: braces may nest as deep as someone likes."""
    prefix: list[str] = []
    current: list[str] = []
    for token in re.findall(r"::|[{},*]|[\w#]+", re.sub(r"\bas\s+\w+", "", text)):
        if token == "{":
            prefix.append("::".join(current))
            current = []
        elif token in ",}":
            yield from _rust_path(prefix, current)
            current = []
            if token == "}" and prefix:
                prefix.pop()
        elif token not in ("::", "*"):
            current.append(token.removeprefix("r#"))
    yield from _rust_path(prefix, current)


def _rust_path(prefix: list[str], current: list[str]) -> Iterator[str]:
    parts = [part for part in (*prefix, *current) if part]
    if parts and current:
        yield "::".join(parts).removesuffix("::self")


def _php(text: str) -> Iterator[str]:
    found = _PHP_USE.match(text)
    if not found:
        yield text.strip("\"'")
        return
    head, brace, group = found[1].partition("{")
    for part in (group.rstrip("} \n") if brace else head).split(","):
        name = part.split(" as ")[0].strip()
        if name:
            yield (head.strip() if brace else "") + name


def _first_group(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def read(text: str) -> Iterator[str]:
        found = pattern.match(text)
        if found:
            yield found[1].rstrip(".")

    return read


def _ruby(text: str) -> Iterator[str]:
    found = _QUOTED.search(text)
    if found:
        relative = text.startswith("require_relative") and not found[1].startswith(".")
        yield ("./" if relative else "") + found[1]


def _c(text: str) -> Iterator[str]:
    yield text.strip().strip('"<>')


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "python": _python,
    "rust": _rust,
    "php": _php,
    "java": _first_group(_JAVA),
    "csharp": _first_group(_CSHARP),
    "ruby": _ruby,
    "c": _c,
    "cpp": _c,
}

_JS_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json")
_ENDINGS = {
    "python": (".py", "/__init__.py", ".pyi", ".pyx"),
    "javascript": ("", *_JS_ENDINGS, *("/index" + ending for ending in _JS_ENDINGS)),
    "rust": (".rs", "/mod.rs"),
    "java": (".java", ".kt"),
    "ruby": (".rb", ""),
    "php": (".php", ""),
    "c": ("",),
    "bash": ("", ".sh"),
}
_FAMILY = {"typescript": "javascript", "vue": "javascript", "cpp": "c", "kotlin": "java"}
# A tail shared by more files than this tells nothing (`index.ts`, `mod.rs`).
_AMBIGUOUS = 3


class ProjectFiles:
    """The paths of a project, findable by their exact name and by their last folders."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._tails: defaultdict[str, list[str]] = defaultdict(list)
        self._folders: defaultdict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            self._tails[path.rpartition("/")[2]].append(path)
            self._folders[path.rpartition("/")[0]].append(path)

    def exact(self, base: str, endings: Iterable[str]) -> str | None:
        return next((base + ending for ending in endings if base + ending in self.paths), None)

    def by_tail(self, tail: str, near: str) -> tuple[str, ...]:
        """Files whose path ends in `tail` (whole folders), the ones sharing most folders with `near` only."""
        named = self._tails.get(tail.rpartition("/")[2], ())
        found = [path for path in named if path == tail or path.endswith("/" + tail)]
        if len(found) > 1:
            shared = {path: len(posixpath.commonprefix([path, near])) for path in found}
            best = max(shared.values())
            found = [path for path in found if shared[path] == best]
        return tuple(found) if len(found) <= _AMBIGUOUS else ()

    def in_folder_ending(self, tail: str, ending: str) -> tuple[str, ...]:
        """Files with `ending` directly in the shortest folder that `tail` (a path of folders) ends with."""
        parts = tail.split("/")
        for first in range(len(parts)):
            files = self._folders.get("/".join(parts[first:]))
            if files:
                return tuple(path for path in files if path.endswith(ending))
        return ()


def resolve_imports(outline: FileOutline, files: ProjectFiles) -> tuple[str, ...]:
    """The project's own files that the imports of `outline` mean, each once, in the order of the imports."""
    resolve = _RESOLVERS.get(_FAMILY.get(outline.language, outline.language))
    if not resolve:
        return ()
    found = dict.fromkeys(path for name in outline.imports for path in resolve(name, outline.path, files))
    found.pop(outline.path, None)
    return tuple(found)


def _resolve_python(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
    bare = name.lstrip(".")
    dots = len(name) - len(bare)
    inner = bare.replace(".", "/")
    if dots:
        folder = "/".join(path.split("/")[:-dots])
        base = "/".join(part for part in (folder, inner) if part)
        one = files.exact(base, _ENDINGS["python"])
        return (one,) if one else ()
    one = files.exact(inner, _ENDINGS["python"]) or files.exact("src/" + inner, _ENDINGS["python"])
    if one:
        return (one,)
    if "/" not in inner and path.rpartition("/")[0]:
        one = files.exact(f"{path.rpartition('/')[0]}/{inner}", (".py",))
        return (one,) if one else ()
    return next((hit for ending in (".py", "/__init__.py") if (hit := files.by_tail(inner + ending, path))), ())


def _resolve_javascript(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
    name = name.partition("?")[0]
    if name.startswith("."):
        base = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        one = files.exact(base, _ENDINGS["javascript"]) or files.exact(
            re.sub(r"\.[mc]?jsx?$", "", base), _ENDINGS["javascript"]
        )
        return (one,) if one else ()
    inner = re.sub(r"^[@~#]/", "", name)
    if inner != name:  # the usual aliases of the source folder
        hits = (files.by_tail(inner + ending, path) for ending in _ENDINGS["javascript"])
        return next((hit for hit in hits if hit), ())
    # A package of the same monorepo: @scope/name lives in packages/name.
    package, _, rest = name.removeprefix("@").partition("/") if not name.startswith("@") else _scoped(name)
    tails = [f"packages/{package}/{rest}", f"packages/{package}/src/{rest or 'index'}"]
    return next(((one,) for tail in tails if (one := files.exact(tail, _ENDINGS["javascript"]))), ())


def _scoped(name: str) -> tuple[str, str, str]:
    _, _, inner = name.partition("/")
    return inner.partition("/")


def _resolve_go(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
    """A Go import names a folder: its files, without tests, at most a handful."""
    if "." not in name.partition("/")[0]:
        return ()  # the standard library
    found = files.in_folder_ending(name, ".go")
    return tuple(one for one in found if not one.endswith("_test.go"))[:8]


def _resolve_rust(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
    parts = name.split("::")
    folder, _, file = path.rpartition("/")
    own = folder if file in ("mod.rs", "lib.rs", "main.rs") else f"{folder}/{file.removesuffix('.rs')}"
    if parts[0] == "crate":
        bases = [path.partition("/src/")[0] + "/src" if "/src/" in path else "src"]
        parts = parts[1:]
    elif parts[0] in ("self", "mod"):
        bases, parts = [own], parts[1:]
    elif parts[0] == "super":
        base = own
        while parts and parts[0] == "super":
            base, parts = base.rpartition("/")[0], parts[1:]
        bases = [base]
    else:
        crate = parts[0].replace("_", "-")
        roots = [f"{crate}/src", f"crates/{crate}/src", f"{parts[0]}/src"]
        if files.exact(posixpath.join(own, parts[0]), _ENDINGS["rust"]):
            bases = [own]  # a module declared right here
        else:
            bases, parts = roots, parts[1:]
    for length in range(len(parts), 0, -1):
        for base in bases:
            one = files.exact(posixpath.join(base, *parts[:length]).lstrip("/"), _ENDINGS["rust"])
            if one:
                return (one,)
    one = next((f"{base}/lib.rs" for base in bases if f"{base}/lib.rs" in files.paths), None)
    return (one,) if one else ()


def _resolve_dotted(ending: str, separator: str) -> Callable[[str, str, ProjectFiles], tuple[str, ...]]:
    def resolve(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
        parts = [part for part in name.split(separator) if part]
        for last in (len(parts), len(parts) - 1):  # the whole name, or a member of the type
            for first in range(max(last - 1, 0)):
                hit = files.by_tail("/".join(parts[first:last]) + ending, path)
                if hit:
                    return hit
        return ()

    return resolve


def _resolve_path(endings: tuple[str, ...]) -> Callable[[str, str, ProjectFiles], tuple[str, ...]]:
    def resolve(name: str, path: str, files: ProjectFiles) -> tuple[str, ...]:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        for base in (beside, name, f"include/{name}", f"src/{name}", f"lib/{name}"):
            one = files.exact(base, endings)
            if one:
                return (one,)
        inner = posixpath.normpath(name).lstrip("./")
        return next((hit for ending in endings if inner and (hit := files.by_tail(inner + ending, path))), ())

    return resolve


_RESOLVERS: dict[str, Callable[[str, str, ProjectFiles], tuple[str, ...]]] = {
    "python": _resolve_python,
    "javascript": _resolve_javascript,
    "go": _resolve_go,
    "rust": _resolve_rust,
    "java": _resolve_dotted(".java", "."),
    "php": _resolve_dotted(".php", "\\"),
    "c": _resolve_path(_ENDINGS["c"]),
    "ruby": _resolve_path(_ENDINGS["ruby"]),
    "bash": _resolve_path(_ENDINGS["bash"]),
}
