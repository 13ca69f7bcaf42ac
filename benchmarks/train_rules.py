"""Trainer of the classifier of rules in guides, from labelled sentences of public repositories.

    python benchmarks/train_rules.py check CLONES       hold out a fifth of the repositories, five times
    python benchmarks/train_rules.py write CLONES       train on all and write the shipped weights

CLONES is a folder with a bare clone of each repository in `data/rules.tsv`, as `OWNER+NAME` or `OWNER+NAME/repo`. The
table holds no text: a line is a repository, a label and the digests of the sentences that have it. Short rules as
private projects give to agents are few in public guides; `data/rules_invented.tsv` has some that were made up.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from train_statements import quantize

from hunchd.ingestion.conventions import describe_readers
from hunchd.ingestion.guides import find_guides
from hunchd.ingestion.instructions import is_release_page, iterate_passages
from hunchd.ingestion.rule_classifier import (
    BUCKETS,
    HEADER,
    LABELS,
    SHIPPED_WEIGHTS,
    Passage,
    extract_features,
)

LABELLED = Path(__file__).parent / "data" / "rules.tsv"
INVENTED = Path(__file__).parent / "data" / "rules_invented.tsv"  # label, page, heading, sentence; never held out
EPOCHS = 12
RATE = 0.3
DECAY = 3e-3
FOLDS = 5

Example = tuple[str, int, np.ndarray, np.ndarray]  # repository, label, buckets and their values
Model = tuple[np.ndarray, np.ndarray]


def digest_sentence(sentence: str) -> str:
    return blake2b(" ".join(sentence.casefold().split()).encode(), digest_size=5).hexdigest()


def load_examples(clones: Path) -> Iterator[Example]:
    """Yield the labelled sentences that the clones still contain."""
    labels: dict[str, dict[str, str]] = {}
    for line in LABELLED.read_text().splitlines():
        repository, label, digests = line.split("\t")
        labels.setdefault(repository, {}).update(dict.fromkeys(digests.split(), label))
    for repository, label_by_digest in labels.items():
        folder = clones / repository.replace("/", "+")
        git = ["git", "-C", str(folder / "repo" if (folder / "repo").exists() else folder)]
        paths = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, text=True).stdout

        def read(path: str, git: list[str] = git) -> str:
            shown = subprocess.run([*git, "show", f"HEAD:{path}"], capture_output=True).stdout
            return shown.decode("utf-8", "replace")[:128_000]

        for guide in find_guides(paths.splitlines(), read, {}).guides:
            if not is_release_page(guide.path):
                for passage in iterate_passages(guide.text, describe_readers(guide)):
                    label = label_by_digest.pop(digest_sentence(passage.sentence), "")
                    if label:
                        yield build_example(repository, label, passage)
    for line in INVENTED.read_text().splitlines():
        label, page, section, sentence = line.split("\t")
        yield build_example("", label, Passage(sentence, section, page, is_item=True))


def build_example(repository: str, label: str, passage: Passage) -> Example:
    features = extract_features(passage)
    return repository, LABELS.index(label), np.array([*features]), np.array([*features.values()])


def train(
    examples: list[Example],
    *,
    shape: tuple[int, int] = (BUCKETS, len(LABELS)),
    epochs: int = EPOCHS,
    decay: float = DECAY,
) -> Model:
    """Fit a softmax over the labels by Adagrad, one sentence at a time."""
    weights, squares = np.zeros(shape), np.full(shape, 1e-8)
    biases, bias_squares = np.zeros(shape[1]), np.full(shape[1], 1e-8)
    order, generator = list(range(len(examples))), random.Random(1)
    for _ in range(epochs):
        generator.shuffle(order)
        for at in order:
            _, label, buckets, values = examples[at]
            error = compute_shares((weights, biases), buckets, values)
            error[label] -= 1
            gradient = np.outer(values, error) + decay * weights[buckets]
            squares[buckets] += gradient**2
            weights[buckets] -= RATE * gradient / np.sqrt(squares[buckets])
            bias_squares += error**2
            biases -= RATE * error / np.sqrt(bias_squares)
    return weights, biases


def compute_shares(model: Model, buckets: np.ndarray, values: np.ndarray) -> np.ndarray:
    logits = values @ model[0][buckets] + model[1]
    shares: np.ndarray = np.exp(logits - logits.max())
    shares /= shares.sum()
    return shares


def check(examples: list[Example]) -> None:
    """Print precision by recall for sentences of repositories that were held out."""
    repositories = sorted({repository for repository, *_ in examples} - {""})
    random.Random(3).shuffle(repositories)
    rated: list[tuple[float, bool, bool]] = []
    for fold in range(FOLDS):
        held_out = set(repositories[fold::FOLDS])
        model = train([one for one in examples if one[0] not in held_out])
        for repository, label, buckets, values in examples:
            if repository in held_out:
                shares = compute_shares(model, buckets, values)
                rated.append((shares[2:].sum(), label > 1, 2 + shares[2:].argmax() == label))
    rated.sort(reverse=True)
    rules = sum(is_rule for _, is_rule, _ in rated)
    print(f"{len(rated)} sentences of {len(repositories)} repositories, {rules} quotable")
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        kept = [is_rule for share, is_rule, _ in rated if share >= threshold]
        print(f"from {threshold}: precision {sum(kept) / len(kept):.2f}, recall {sum(kept) / rules:.2f}")
    print(f"topic right: {sum(is_right for _, is_rule, is_right in rated if is_rule) / rules:.2f}")


def write(examples: list[Example]) -> None:
    SHIPPED_WEIGHTS.write_bytes(quantize(train(examples), HEADER))


if __name__ == "__main__":
    labelled = list(load_examples(Path(sys.argv[2])))
    {"check": check, "write": write}[sys.argv[1]](labelled)
