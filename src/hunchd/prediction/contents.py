"""Contents of files: words, definitions, uses and imports, updated file by file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.prediction import words
from hunchd.prediction.fields import FREQUENCY_BITS, LOW_BITS, Field
from hunchd.prediction.packed import Array, Arrays, Column

MOST_WORDS = 1_000  # distinct words kept for one file, the most frequent
MOST_NAMES = 400  # definitions, and uses, kept for one file
SKETCH = 48  # heaviest words of a file, used to compare files
WHOLE = 65_535.0  # a weight of 1 in a sketch

_IMPORT_PARTS = re.compile(r"[A-Za-z0-9_\-@.]+")


class Contents:
    """Fields by file, and sketches of their heaviest words.

    Sketches have a fixed width and serve the cosine.
    """

    def __init__(self) -> None:
        self.paths = Field()
        self.words = Field.counting()
        self.names = Field()  # words of the names a file defines
        self.definitions = Field.counting()  # names as written
        self.uses = Field.counting()
        self.imports = Field()  # keys of the modules a file imports
        self.modules = Field()  # keys by which others import a file
        self._seen = Column.of("<u8")  # digest of the indexed blob; 0: none
        self._sketch_keys = np.zeros((0, SKETCH), "<u4")
        self._sketch_weights = np.zeros((0, SKETCH), "<u2")
        self._scratch = np.zeros(1 << FREQUENCY_BITS, "<f4")

    def name(self, file: int, path: str) -> None:
        """Index the words of a file's path, which needs no content."""
        keys = words.keys_of_text(path.replace("/", " ").replace(".", " "))
        self.paths.put(file, keys)
        self.modules.put(file, module_keys(path))

    def place(self, file: int, outline: FileOutline) -> bool:
        """Index the content of a file; return False if it is unchanged."""
        digest = int(outline.blob[:15], 16) + 1 if re.match(r"[0-9a-f]{15}", outline.blob) else 0
        self._reach(file + 1)
        if digest and self._seen.view[file] == digest:
            return False
        self._seen.view[file] = digest
        counts = words.counted(outline.words).most_common(MOST_WORDS)
        self.words.put(file, [key for key, _ in counts], [count for _, count in counts])
        self._sketch(file, counts)
        defined = dict.fromkeys(words.key(symbol.name) for symbol in outline.symbols if len(symbol.name) > 2)
        used = dict.fromkeys(words.key(name) for name in outline.references if len(name) > 2)
        names = words.keys_of_text(" ".join(symbol.name for symbol in outline.symbols))
        self.names.put(file, names[:MOST_WORDS])
        self.definitions.put(file, list(defined)[:MOST_NAMES])
        self.uses.put(file, list(used)[:MOST_NAMES])
        self.imports.put(file, list(dict.fromkeys(imported_modules(outline.path, outline.imports))))
        return True

    def drop(self, file: int) -> None:
        if file >= len(self._seen):
            self.paths.drop(file)
            self.modules.drop(file)
            return
        self._seen.view[file] = 0
        for name in _FIELDS:
            field: Field = getattr(self, name)
            field.drop(file)
        self._sketch_weights[file] = 0

    def merging(self, least: int) -> list[Callable[[], Callable[[], None]]]:
        """Return the merge work of fields with enough new pairs.

        These are at least `least`; see `Field.merging`.
        """
        fields: list[Field] = [getattr(self, name) for name in _FIELDS]
        works = [field.merging(least) for field in fields]
        return [work for work in works if work is not None]

    def likeness(self, file: int, others: Array) -> Array:
        """Return the cosine of a file's sketch with those of others, 0..1."""
        likeness = np.zeros(len(others), "<f4")
        if file >= len(self._seen):
            return likeness
        known = (others < len(self._seen)).nonzero()[0]
        keys = self._sketch_keys[file]
        self._scratch[keys] = self._sketch_weights[file]
        kept = others[known]
        shared = self._scratch.take(self._sketch_keys.take(kept, axis=0))
        shared *= self._sketch_weights.take(kept, axis=0)
        likeness[known] = shared.sum(axis=1) / (WHOLE * WHOLE)
        self._scratch[keys] = 0.0
        return likeness

    def _reach(self, size: int) -> None:
        self._seen.reach(size)
        if size > len(self._sketch_keys):
            grown = max(size, len(self._sketch_keys) * 3 // 2, 64) - len(self._sketch_keys)
            self._sketch_keys = np.vstack((self._sketch_keys, np.zeros((grown, SKETCH), "<u4")))
            self._sketch_weights = np.vstack((self._sketch_weights, np.zeros((grown, SKETCH), "<u2")))

    def _sketch(self, file: int, counts: list[tuple[int, int]]) -> None:
        """Compute the tf-idf sketch of a file.

        The document frequencies are those of now; they drift as the project grows, and the next save renews the
        sketch.
        """
        keys = np.array([key for key, _ in counts], "<u4")
        tf = 1.0 + np.log(np.array([count for _, count in counts], "<f4"))
        idf = np.log1p(self.words.documents / np.maximum(self.words.frequencies(keys), 1))
        weights = (tf * idf).astype("<f4")
        heaviest = np.argsort(-weights, kind="stable")[:SKETCH]
        norm = float(np.linalg.norm(weights[heaviest])) or 1.0
        self._sketch_keys[file] = 0
        self._sketch_weights[file] = 0
        self._sketch_keys[file, : len(heaviest)] = keys[heaviest] & LOW_BITS
        self._sketch_weights[file, : len(heaviest)] = np.rint(weights[heaviest] * (WHOLE / norm))

    def arrays(self) -> Arrays:
        arrays: Arrays = {"seen": self._seen.view}
        arrays["sketch_keys"] = self._sketch_keys[: len(self._seen)]
        arrays["sketch_weights"] = self._sketch_weights[: len(self._seen)]
        for name in _FIELDS:
            field: Field = getattr(self, name)
            for part, array in field.arrays().items():
                arrays[f"{name}.{part}"] = array
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Contents:
        contents = cls()
        contents._seen = Column(arrays["seen"])
        contents._sketch_keys = arrays["sketch_keys"]
        contents._sketch_weights = arrays["sketch_weights"]
        for name in _FIELDS:
            prefix = f"{name}."
            parts = {part.removeprefix(prefix): array for part, array in arrays.items() if part.startswith(prefix)}
            setattr(contents, name, Field.from_arrays(parts))
        return contents


_FIELDS = ("paths", "words", "names", "definitions", "uses", "imports", "modules")


def module_keys(path: str) -> list[int]:
    """Return the keys by which others import this file.

    They are made of its last two path parts. A file such as `__init__` stands for its folder.
    """
    stem = path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path
    parts = [part for part in stem.split("/") if part not in {"src", "lib", "."}]
    if len(parts) > 1 and parts[-1] in {"__init__", "index", "mod", "lib", "main"}:
        parts = parts[:-1]
    return [words.key("/".join(parts[-2:]).lower())] if parts else []


def imported_modules(path: str, imports: Iterable[str]) -> Iterable[int]:
    """Yield the keys of modules that import strings may mean.

    They have the form of `module_keys`.
    """
    folder = posixpath.dirname(path)
    for text in imports:
        name = text.strip().strip("\"'`<>;")
        if not name:
            continue
        if name.startswith(("./", "../", "/")) or name in {".", ".."}:
            target = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
            target = re.sub(r"\.(d\.)?[cm]?[jt]sx?$|\.vue$|\.h(pp)?$", "", target)
            yield from module_keys(target)
        elif name.startswith("."):
            dots = len(name) - len(name.lstrip("."))
            base = folder
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            yield from module_keys("/".join(filter(None, [base, *name.lstrip(".").split(".")])))
        elif "::" in name:
            yield from _rust(path, name)
        else:
            cleaned = re.sub(r"\.(d\.)?[cm]?[jt]sx?$|\.h(pp)?$", "", name)
            parts = cleaned.split("/") if "/" in cleaned else cleaned.split(".")
            for end in range(len(parts), 0, -1):
                yield words.key("/".join(parts[:end][-2:]).lower())


def _rust(path: str, name: str) -> Iterable[int]:
    """Yield the keys of a Rust path.

    `crate::runtime::task::{Id}` may mean runtime/task, or something defined in it.
    """
    outer = name.split("{", 1)[0]
    parts = [part for part in outer.split("::") if part and part != "*"]
    base = [part for part in posixpath.dirname(path).split("/") if part]
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    here = base if stem in {"mod", "lib", "main"} else [*base, stem]
    if parts and parts[0] == "super":
        while parts and parts[0] == "super":
            parts, here = parts[1:], here[:-1]
        parts = here + parts
    elif parts and parts[0] == "self":
        parts = here + parts[1:]
    elif parts and parts[0] == "crate":
        parts = parts[1:]
        if parts:
            yield words.key("/".join([*base[: base.index("src")][-1:], parts[0]]).lower()) if "src" in base else 0
    parts = [part for part in parts if part not in {"src", "lib"}]
    for end in range(len(parts), max(len(parts) - 3, 0), -1):
        yield words.key("/".join(parts[:end][-2:]).lower())
