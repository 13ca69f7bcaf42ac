"""Detection of a file's language from its name or first line."""

from __future__ import annotations

import re

# Data formats, in which values may be secrets: their symbols show keys, never values.
DATA_LANGUAGES = frozenset({"json", "yaml", "toml", "ini"})
NOTEBOOK = "notebook"  # prose and code in cells

_EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl cu cuh",
    "csharp": "cs",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml",
    "bash": "sh bash zsh ksh bats",
    "json": "json jsonc json5 webmanifest",
    "yaml": "yaml yml",
    "toml": "toml",
    NOTEBOOK: "ipynb",
    "markdown": "md markdown mdx mdown",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc",
    "text": "txt",
    "ini": "ini cfg conf properties editorconfig",
    "vue": "vue svelte",
    "html": "html htm xhtml jinja j2 jinja2",
    "xml": "xml xsd csproj props targets svg",
    "css": "css scss sass less",
    "sql": "sql",
    "make": "mk mak",
    "just": "just",
    "proto": "proto",
    "graphql": "graphql gql",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc",
    "lua": "lua",
    "perl": "pl pm",
    "elixir": "ex exs",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "groovy": "groovy gradle",
    "powershell": "ps1 psm1",
    "cython": "pyx pxd",
    "viml": "vim",
    "elisp": "el",
    "terraform": "tf hcl",
    "zig": "zig",
    "haskell": "hs",
    "ocaml": "ml mli",
    "erlang": "erl hrl",
    "clojure": "clj cljs cljc edn",
    "nix": "nix",
    "objc": "m mm",
}
_BY_EXTENSION = {ending: name for name, endings in _EXTENSIONS.items() for ending in endings.split()}
_BY_NAME = {
    "makefile": "make",
    "gnumakefile": "make",
    "justfile": "just",
    "dockerfile": "docker",
    "containerfile": "docker",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "podfile": "ruby",
    "vagrantfile": "ruby",
    "brewfile": "ruby",
    "cargo.lock": "lock",
    "poetry.lock": "lock",
    "uv.lock": "lock",
    "pdm.lock": "lock",
    "pixi.lock": "lock",
    "package-lock.json": "lock",
    "npm-shrinkwrap.json": "lock",
    "pnpm-lock.yaml": "lock",
    "yarn.lock": "lock",
    "bun.lock": "lock",
    "composer.lock": "lock",
    "gemfile.lock": "lock",
    "go.sum": "lock",
    "flake.lock": "lock",
    "deno.lock": "lock",
    "packages.lock.json": "lock",
    ".editorconfig": "ini",
    ".flake8": "ini",
    ".coveragerc": "ini",
    ".pylintrc": "ini",
    ".npmrc": "ini",
    ".eslintrc": "json",
    ".prettierrc": "yaml",
    ".babelrc": "json",
    ".bashrc": "bash",
    ".envrc": "bash",
    "readme": "text",
    "changelog": "text",
    "changes": "text",
    "license": "text",
    "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake",
}
_SHEBANGS = (
    (re.compile(r"\bpython[\d.]*\b"), "python"),
    (re.compile(r"\b(ba|z|k|da|a)?sh\b"), "bash"),
    (re.compile(r"\b(node|bun)\b"), "javascript"),
    (re.compile(r"\b(deno|ts-node|tsx)\b"), "typescript"),
    (re.compile(r"\bruby\b"), "ruby"),
    (re.compile(r"\bphp\b"), "php"),
    (re.compile(r"\bperl\b"), "perl"),
)
_CPP_IN_HEADER = re.compile(
    rb"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)", re.M
)


def detect_language(path: str, source: bytes = b"") -> str:
    """Return a file's language, detected from its name or first line.

    Returns "" if the language is unknown.
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, dot, ending = name.rpartition(".")
    if dot and ending in _BY_EXTENSION:
        language = _BY_EXTENSION[ending]
        return "cpp" if ending == "h" and _CPP_IN_HEADER.search(source) else language
    if stem.startswith("dockerfile") or name.startswith("dockerfile"):
        return "docker"
    if source.startswith(b"#!"):
        first = source[:200].split(b"\n", 1)[0].decode("ascii", "replace")
        return next((language for pattern, language in _SHEBANGS if pattern.search(first)), "")
    return ""
