"""Contents of files (words, definitions, uses and imports), updated file by file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

import numpy as np

from hunchd.domain.code import FileOutline
from hunchd.prediction import words
from hunchd.prediction.field_index import FREQUENCY_BITS, LOW_BITS, FieldIndex
from hunchd.prediction.packed_arrays import Array, Arrays, GrowingColumn

MAX_WORDS = 1_000  # distinct words kept for one file, the most frequent
MAX_NAMES = 400  # maximum number of definitions, and of uses, kept for one file
SKETCH_WORDS = 48  # heaviest words of a file, used to compare files
SKETCH_SCALE = 65_535.0  # a weight of 1 in a sketch


class FileContents:
    """Indexes of file contents, with a sketch of each file.

    A sketch contains the words with the highest tf-idf weights. Sketches have a fixed width and are used to compute
    cosine similarities.
    """

    def __init__(self) -> None:
        self.paths = FieldIndex()
        self.words = FieldIndex.create_counting()
        self.names = FieldIndex()  # words in the names that a file defines
        self.definitions = FieldIndex.create_counting()  # names as written
        self.uses = FieldIndex.create_counting()
        self.imports = FieldIndex()  # keys of the modules a file imports
        self.modules = FieldIndex()  # keys by which others import a file
        self._blob_digests = GrowingColumn.create("<u8")  # digest of the indexed blob; 0: none
        self._sketch_keys = np.zeros((0, SKETCH_WORDS), "<u4")
        self._sketch_weights = np.zeros((0, SKETCH_WORDS), "<u2")
        self._scratch = np.zeros(1 << FREQUENCY_BITS, "<f4")

    def index_path(self, file: int, path: str) -> None:
        """Index the words in a file's path.

        The content of the file is not needed for this.
        """
        keys = words.hash_text_words(path.replace("/", " ").replace(".", " "))
        self.paths.set_keys(file, keys)
        self.modules.set_keys(file, list_module_keys(path))

    def index_content(self, file: int, outline: FileOutline) -> bool:
        """Index the content of a file.

        Returns False if the content is unchanged.
        """
        digest = int(outline.blob[:15], 16) + 1 if re.match(r"[0-9a-f]{15}", outline.blob) else 0
        self._grow(file + 1)
        if digest and self._blob_digests.view[file] == digest:
            return False
        self._blob_digests.view[file] = digest
        counts = words.count_keys(outline.words).most_common(MAX_WORDS)
        self.words.set_keys(file, [key for key, _ in counts], [count for _, count in counts])
        self._update_sketch(file, counts)
        defined_hashes = dict.fromkeys(
            words.hash_word(symbol.name) for symbol in outline.symbols if len(symbol.name) > 2
        )
        used_keys = dict.fromkeys(words.hash_word(name) for name in outline.references if len(name) > 2)
        names = words.hash_text_words(" ".join(symbol.name for symbol in outline.symbols))
        self.names.set_keys(file, names[:MAX_WORDS])
        self.definitions.set_keys(file, list(defined_hashes)[:MAX_NAMES])
        self.uses.set_keys(file, list(used_keys)[:MAX_NAMES])
        self.imports.set_keys(file, list(dict.fromkeys(resolve_imports(outline.path, outline.imports))))
        return True

    def remove_file(self, file: int) -> None:
        if file >= len(self._blob_digests):
            self.paths.remove_file(file)
            self.modules.remove_file(file)
            return
        self._blob_digests.view[file] = 0
        for name in _FIELDS:
            field: FieldIndex = getattr(self, name)
            field.remove_file(file)
        self._sketch_weights[file] = 0

    def prepare_merges(self, min_added: int) -> list[Callable[[], Callable[[], None]]]:
        """Return one merge task for each index that has grown enough.

        An index has grown enough if at least `min_added` postings were added. Each task does the slow part,
        possibly in another thread, and returns a function that installs the result; see
        `KeyPostings.prepare_merge`.
        """
        fields: list[FieldIndex] = [getattr(self, name) for name in _FIELDS]
        works = [field.prepare_merge(min_added) for field in fields]
        return [work for work in works if work is not None]

    def compute_similarity(self, file: int, others: Array) -> Array:
        """Return the similarity between `file` and each of `others`.

        The similarity is the cosine of the two files' sketches, from 0 to 1.
        """
        similarity = np.zeros(len(others), "<f4")
        if file >= len(self._blob_digests):
            return similarity
        is_indexed = (others < len(self._blob_digests)).nonzero()[0]
        keys = self._sketch_keys[file]
        self._scratch[keys] = self._sketch_weights[file]
        indexed_files = others[is_indexed]
        shared_keys = self._scratch.take(self._sketch_keys.take(indexed_files, axis=0))
        shared_keys *= self._sketch_weights.take(indexed_files, axis=0)
        similarity[is_indexed] = shared_keys.sum(axis=1) / (SKETCH_SCALE * SKETCH_SCALE)
        self._scratch[keys] = 0.0
        return similarity

    def _grow(self, size: int) -> None:
        self._blob_digests.grow_to(size)
        if size > len(self._sketch_keys):
            added_size = max(size, len(self._sketch_keys) * 3 // 2, 64) - len(self._sketch_keys)
            self._sketch_keys = np.vstack((self._sketch_keys, np.zeros((added_size, SKETCH_WORDS), "<u4")))
            self._sketch_weights = np.vstack((self._sketch_weights, np.zeros((added_size, SKETCH_WORDS), "<u2")))

    def _update_sketch(self, file: int, counts: list[tuple[int, int]]) -> None:
        """Compute the tf-idf sketch of a file.

        The sketch uses the current document frequencies. These drift as the project grows; the sketch is renewed
        the next time the file is saved.
        """
        keys = np.array([key for key, _ in counts], "<u4")
        tf = 1.0 + np.log(np.array([count for _, count in counts], "<f4"))
        idf = np.log1p(self.words.documents / np.maximum(self.words.get_frequencies(keys), 1))
        weights = (tf * idf).astype("<f4")
        heaviest = np.argsort(-weights, kind="stable")[:SKETCH_WORDS]
        norm = float(np.linalg.norm(weights[heaviest])) or 1.0
        self._sketch_keys[file] = 0
        self._sketch_weights[file] = 0
        self._sketch_keys[file, : len(heaviest)] = keys[heaviest] & LOW_BITS
        self._sketch_weights[file, : len(heaviest)] = np.rint(weights[heaviest] * (SKETCH_SCALE / norm))

    def to_arrays(self) -> Arrays:
        arrays: Arrays = {"seen": self._blob_digests.view}
        arrays["sketch_keys"] = self._sketch_keys[: len(self._blob_digests)]
        arrays["sketch_weights"] = self._sketch_weights[: len(self._blob_digests)]
        for name in _FIELDS:
            field: FieldIndex = getattr(self, name)
            for part, array in field.to_arrays().items():
                arrays[f"{name}.{part}"] = array
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FileContents:
        contents = cls()
        contents._blob_digests = GrowingColumn(arrays["seen"])
        contents._sketch_keys = arrays["sketch_keys"]
        contents._sketch_weights = arrays["sketch_weights"]
        for name in _FIELDS:
            prefix = f"{name}."
            parts = {part.removeprefix(prefix): array for part, array in arrays.items() if part.startswith(prefix)}
            setattr(contents, name, FieldIndex.from_arrays(parts))
        return contents


_FIELDS = ("paths", "words", "names", "definitions", "uses", "imports", "modules")


def list_module_keys(path: str) -> list[int]:
    """Return the keys that other files use to import `path`.

    The keys are hashes of the last two parts of the path. A file such as `__init__` is imported by the name of its
    folder.
    """
    stem = path.rsplit(".", 1)[0] if "." in path.rsplit("/", 1)[-1] else path
    parts = [part for part in stem.split("/") if part not in {"src", "lib", "."}]
    if len(parts) > 1 and parts[-1] in {"__init__", "index", "mod", "lib", "main"}:
        parts = parts[:-1]
    return [words.hash_word("/".join(parts[-2:]).lower())] if parts else []


def resolve_imports(path: str, imports: Iterable[str]) -> Iterable[int]:
    """Yield the keys of the modules that import strings may refer to.

    `path` is the importing file. The keys have the same form as those from `list_module_keys`.
    """
    folder = posixpath.dirname(path)
    for text in imports:
        name = text.strip().strip("\"'`<>;")
        if not name:
            continue
        if name.startswith(("./", "../", "/")) or name in {".", ".."}:
            target = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
            target = re.sub(r"\.(d\.)?[cm]?[jt]sx?$|\.vue$|\.h(pp)?$", "", target)
            yield from list_module_keys(target)
        elif name.startswith("."):
            dots = len(name) - len(name.lstrip("."))
            base = folder
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            yield from list_module_keys("/".join(filter(None, [base, *name.lstrip(".").split(".")])))
        elif "::" in name:
            yield from _resolve_rust_import(path, name)
        else:
            without_suffix = re.sub(r"\.(d\.)?[cm]?[jt]sx?$|\.h(pp)?$", "", name)
            # Only a dotted name may be that of a definition in a module, and no name imports the folders around it.
            is_path = "/" in without_suffix
            parts = without_suffix.split("/" if is_path else ".")
            for end in range(len(parts), max(len(parts) - (1 if is_path else 2), 0), -1):
                yield words.hash_word("/".join(parts[:end][-2:]).lower())


def _resolve_rust_import(path: str, name: str) -> Iterable[int]:
    """Yield the keys of modules that a Rust path may refer to.

    `crate::runtime::task::{Id}` may refer to the module runtime/task, or to something defined in it.
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
            yield words.hash_word("/".join([*base[: base.index("src")][-1:], parts[0]]).lower()) if "src" in base else 0
    parts = [part for part in parts if part not in {"src", "lib"}]
    for end in range(len(parts), max(len(parts) - 3, 0), -1):
        yield words.hash_word("/".join(parts[:end][-2:]).lower())
