"""Trainer of the two models that judge what a sentence of a session states.

    python benchmarks/train_statements.py check            hold out a fifth of the sessions
    python benchmarks/train_statements.py write            train on all and write the shipped files
        [--real FILE]       labelled sentences of real sessions, which are not published: label, tab, text;
                            "-" for one that states nothing to keep
        [--ngrams]          only the model over n-grams, without jax

`data/statements/*.tsv` are sessions written for this purpose: language, session, label and sentence of a user, or
`assistant` and what is asked. The n-grams need 40 s of a core; the statement model (`statement_network.py`) needs jax
and about 6 minutes of a core.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from hunchd.embedding import model_digests
from hunchd.embedding.statements import CHANGES_FILE
from hunchd.ingestion.session_statements import COMMENT_LABELS, REPORT_LABEL
from hunchd.ingestion.statement_classifier import (
    BUCKETS,
    HEADER,
    LABELS,
    NOTHING,
    SHIPPED_WEIGHTS,
    extract_features,
    is_mostly_latin,
)

DATA = Path(__file__).parent / "data" / "statements"
FOLDS = 5
HELD = DATA / "held"  # sessions of speakers of whom nothing is trained on
SINGLE = "single-"  # sentences of no session
ASSISTANT = "assistant"  # in place of a label: a question that the next sentence answers
REAL_SHARE = 0.12  # of the real sentences, which are seen by the statement model
SINGLE_SHARE = 0.4  # of the single sentences
TALK_SHARE = 0.5  # of the written requests and remarks, which are most of the sentences
NGRAM_PASSES = 2  # over the written sentences, for one over the real ones
DONE_PASSES = 3  # more over reports that something is done, which are the rarest
EPOCHS, BATCH, RATE, DECAY = 15, 64, 0.2, 2e-6


@dataclass(frozen=True)
class Sentence:
    """Labelled sentence with the one before it in its session."""

    language: str
    session: str
    label: str
    text: str
    context: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("does", choices=("check", "write"))
    parser.add_argument("--real", type=Path)
    parser.add_argument("--ngrams", action="store_true")
    options = parser.parse_args()
    written, speakers = list(read_written(DATA)), list(read_written(HELD))
    real = read_real(options.real) if options.real else []
    held = hold_out(written) if options.does == "check" else set()
    trained = [one for one in written if one.session not in held]
    tested = [one for one in written if one.session in held]
    comments = [one for one in trained if one.label in COMMENT_LABELS]  # rarer than others, and worse if kept
    reports = [one for one in trained if one.label == REPORT_LABEL] * DONE_PASSES
    ngrams = train_ngrams([*(trained + comments + reports) * NGRAM_PASSES, *real])
    for title, sentences in (("n-grams", tested), ("n-grams, other speakers", speakers)):
        if sentences:
            report(title, sentences, predict_ngrams(ngrams, sentences))
    if not tested:
        SHIPPED_WEIGHTS.write_bytes(quantize(ngrams, HEADER))
    if not options.ngrams:
        train_network([*trained, *random.Random(3).sample(real, int(REAL_SHARE * len(real)))], tested)
    return 0


def train_network(trained: Sequence[Sentence], tested: Sequence[Sentence]) -> None:
    import statement_network as network

    def encode(sentences: Sequence[Sentence]) -> list[network.Encoded]:
        return network.encode([(one.context, one.text) for one in sentences])

    source = random.Random(5)
    latin = [one for one in trained if is_mostly_latin(one.text)]
    latin = [one for one in latin if not one.session.startswith(SINGLE) or source.random() < SINGLE_SHARE]
    trained = [one for one in latin if one.label not in ("request", "chatter") or source.random() < TALK_SHARE]
    changes = network.train(encode(trained), [LABELS.index(one.label) for one in trained])
    if tested:
        tested = [one for one in tested if is_mostly_latin(one.text)]
        report("statement model", tested, network.predict(changes, encode(tested)))
        return
    np.savez_compressed(CHANGES_FILE, **network.pack_changes(changes))
    digest = hashlib.sha256(CHANGES_FILE.read_bytes()).hexdigest()
    digests = Path(model_digests.__file__)
    digests.write_text(re.sub(r'(STATEMENTS_DIGEST: Final = )"\w*"', rf'\g<1>"{digest}"', digests.read_text()))


def read_written(folder: Path) -> Iterator[Sentence]:
    for path in sorted(folder.glob("*.tsv")):
        before = ("", "")
        for line in path.read_text("utf-8").splitlines():
            language, session, label, text = line.split("\t")
            if label != ASSISTANT:
                yield Sentence(language, session, label, text, before[1] if before[0] == session else "")
            before = session, text


def read_real(path: Path) -> list[Sentence]:
    """Read labelled sentences; one that states nothing is a remark, or a request if it asks."""
    sentences: list[Sentence] = []
    for line in path.read_text("utf-8").splitlines():
        label, _, text = line.partition("\t")
        label = label if label != "-" else "request" if "?" in text else "chatter"
        sentences.append(Sentence("real", "", label, text, sentences[-1].text if sentences else ""))
    return sentences


def hold_out(sentences: Sequence[Sentence]) -> set[str]:
    """Return every fifth session of each language."""
    by_language: dict[str, set[str]] = defaultdict(set)
    for one in sentences:
        if not one.session.startswith(SINGLE):
            by_language[one.language].add(one.session)
    return {
        session
        for sessions in by_language.values()
        for session in random.Random(3).sample(sorted(sessions), len(sessions))[::FOLDS]
    }


def build_matrix(sentences: Sequence[Sentence]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of the sparse features."""
    rows, columns, values = [], [], []
    extract = cache(extract_features)
    for row, sentence in enumerate(sentences):
        for bucket, value in extract(sentence.text).items():
            rows.append(row)
            columns.append(bucket)
            values.append(value)
    return np.array(rows, np.int32), np.array(columns, np.int32), np.array(values, np.float32)


Model = tuple[np.ndarray, np.ndarray]


def train_ngrams(examples: Sequence[Sentence]) -> Model:
    """Fit a softmax over the labels by mini-batches with Adagrad."""
    weights = np.zeros((BUCKETS, len(LABELS)), np.float32)
    biases = np.zeros(len(LABELS), np.float32)
    squares = np.full_like(weights, 1e-4)
    targets = np.array([LABELS.index(one.label) for one in examples])
    rows, columns, values = build_matrix(examples)
    starts = np.searchsorted(rows, np.arange(len(examples) + 1))
    order = np.arange(len(examples))
    generator = np.random.default_rng(11)
    smooth = 0.02  # of the target, spread over all labels
    for _ in range(EPOCHS):
        generator.shuffle(order)
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            picked = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in batch])
            sizes = starts[batch + 1] - starts[batch]
            firsts = np.cumsum(sizes) - sizes
            logits = np.add.reduceat(weights[columns[picked]] * values[picked, None], firsts) + biases
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            wanted = np.full_like(shares, smooth / len(LABELS))
            wanted[np.arange(len(batch)), targets[batch]] += 1 - smooth
            error = (shares - wanted) / len(batch)
            by_column = np.argsort(columns[picked], kind="stable")
            touched, starting = np.unique(columns[picked][by_column], return_index=True)
            products = np.repeat(error, sizes, axis=0) * values[picked, None]
            gradient = np.add.reduceat(products[by_column], starting) + DECAY * weights[touched]
            squares[touched] += gradient**2
            weights[touched] -= RATE * gradient / np.sqrt(squares[touched])
            biases -= 0.05 * error.sum(axis=0)
    return weights, biases


def predict_ngrams(model: Model, sentences: Sequence[Sentence]) -> np.ndarray:
    weights, biases = model
    rows, columns, values = build_matrix(sentences)
    logits = np.zeros((len(sentences), len(LABELS)), np.float32) + biases
    np.add.at(logits, rows, weights[columns] * values[:, None])
    return logits


def quantize(model: Model, header: bytes) -> bytes:
    """Return the content of a weights file, with signed bytes and a scale for each label."""
    weights, biases = model
    scales = np.abs(weights).max(axis=0) / 127
    whole = np.round(weights / scales).astype(np.int8)
    floats = b"".join(one.astype("<f4").tobytes() for one in (scales, biases))
    return header + zlib.compress(floats + whole.tobytes(), 9)


def report(title: str, sentences: Sequence[Sentence], logits: np.ndarray) -> None:
    """Print how well sentences that state something are told from others, and how many labels are right."""
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    nothing = np.array([label in NOTHING for label in LABELS])
    scores = shares[:, ~nothing].sum(axis=1)
    print(title)
    for language in ("all", *sorted({one.language for one in sentences})):
        own = np.array([language in ("all", one.language) for one in sentences])
        states = np.array([one.label not in NOTHING for one in sentences])[own]
        right = np.array([LABELS[at] for at in logits.argmax(axis=1)]) == [one.label for one in sentences]
        order = np.argsort(-scores[own])
        precision = np.cumsum(states[order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(precision >= 0.85)
        recall = states[order][: enough[-1] + 1].sum() / states.sum() if len(enough) else 0.0
        print(
            f"  {language:<5}{own.sum():>6} sentences, {states.sum():>5} state something: average precision "
            f"{(precision * states[order]).sum() / states.sum():.3f}, recall at precision .85 {recall:.2f}, "
            f"labels of these {right[own][states].mean():.2f}"
        )


if __name__ == "__main__":
    sys.exit(main())
