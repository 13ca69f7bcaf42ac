"""Trainer of the classifier that tells which kind of statement answers a question.

    python benchmarks/train_questions.py check    hold out a fifth of the questions, five times
    python benchmarks/train_questions.py write    train on all and write the shipped weights

`data/questions.tsv` has questions written for this purpose: language, label, question. "change" is counted as
"decision", whose last state answers it. Takes half a minute of a core.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from train_rules import Example, compute_shares, train
from train_statements import quantize

from hunchd.retrieval.question_kinds import BUCKETS, HEADER, LABELS, SHIPPED_WEIGHTS, extract_features

QUESTIONS = Path(__file__).parent / "data" / "questions.tsv"
RENAMED = {"change": "decision", "zone": "time zone"}
FOLDS = 5
EPOCHS, DECAY = 10, 3e-4


def load_questions() -> list[tuple[str, Example]]:
    """Return the questions with their languages, each once."""
    found = []
    for line in dict.fromkeys(QUESTIONS.read_text("utf-8").splitlines()):
        language, label, question = line.split("\t")
        features = extract_features(question)
        place = LABELS.index(RENAMED.get(label, label))
        found.append((language, (question, place, np.array([*features]), np.array([*features.values()]))))
    return found


def fit(examples: list[Example]) -> tuple[np.ndarray, np.ndarray]:
    return train(examples, shape=(BUCKETS, len(LABELS)), epochs=EPOCHS, decay=DECAY)


def check() -> None:
    """Print how many held-out questions get the right kind, by language."""
    questions = load_questions()
    random.Random(3).shuffle(questions)
    right: Counter[str] = Counter()
    for fold in range(FOLDS):
        held = questions[fold::FOLDS]
        model = fit([one for at, (_, one) in enumerate(questions) if at % FOLDS != fold])
        for language, (_, label, buckets, values) in held:
            right[language] += int(compute_shares(model, buckets, values).argmax()) == label
    whole = Counter(language for language, _ in questions)
    print(", ".join(f"{language} {right[language]}/{count}" for language, count in whole.most_common()))
    print(f"right: {right.total() / whole.total():.2f}")


def write() -> None:
    SHIPPED_WEIGHTS.write_bytes(quantize(fit([one for _, one in load_questions()]), HEADER))


if __name__ == "__main__":
    {"check": check, "write": write}[sys.argv[1]]()
