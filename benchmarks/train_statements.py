"""Trainer of the sentence classifier, from frames and hand-written sentences in eight languages.

    python benchmarks/train_statements.py check            hold out a fifth of the frames
    python benchmarks/train_statements.py write            train on all frames and write the shipped weights
    python benchmarks/train_statements.py write --real FILE
                                                           … and on labelled sentences of real sessions: label, tab,
                                                           text; "-" for one that states nothing to keep

`data/statements/LANGUAGE.txt` holds frames by label: `{name}` is filled from the lists at its beginning (`@name = …`)
and those in `shared.txt`, `[a|b]` is one of its alternatives. `data/statements/held_out.tsv` is never trained on.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hunchd.embedding.fastembed_backend import load_embedder
from hunchd.ingestion.statement_classifier import (
    BUCKETS,
    DIMENSIONS,
    HIDDEN,
    LABELS,
    LONGEST,
    SHIPPED_WEIGHTS,
    extract_features,
    pack_weights,
)

DATA = Path(__file__).parent / "data" / "statements"
PER_LABEL = 300  # sentences of a label and language
PER_LABEL_OF_LAYER = 150  # vectors take 4 ms each
LAYER_EPOCHS = 20
SPREAD = 4.0  # factor of the vectors, whose numbers are about 0.05
SHARE_OF_LAYER = 0.8  # of its logits in the sum: the two models agree too often to count fully
CUT = 0.06  # share of English sentences that are cut after a small word, as when somebody is interrupted
SMALL_WORDS = frozenset(
    "the a an to of and or our my your with for in on from that because we i this make is".split()  # noqa: SIM905
)
ENGLISH = 2.0  # times as many
TALK = 2.0  # times as many requests and remarks, as in real sessions
EPOCHS = 7
RATE = 0.1
DECAY = 2e-6
NOTHING_TO_KEEP = ("request", "chatter")
REAL_NEGATIVES = 2  # times that each is seen in an epoch
REAL_STATEMENTS = 12  # there are few
INVENTED = {"tech": 0.35, "name": 0.15, "person": 0.1, "city": 0.15}  # share of invented names
ENDS = ("", "", "", "r", "n", "l", "s", "x")
LEADS = {
    "en": ("OK, ", "Right, ", "By the way, ", "Also, ", "And ", "So, ", "One more thing: ", "Hm, "),
    "de": ("Also, ", "Übrigens: ", "Und ", "Gut, ", "Noch etwas: "),
    "es": ("Bueno, ", "Y ", "Por cierto, ", "Vale, "),
    "fr": ("Bon, ", "Et ", "Au fait, ", "D'accord, "),
    "pt": ("Bom, ", "E ", "Aliás, "),
    "zh": ("对了,", "还有,", "好,"),
    "ja": ("あと、", "では、", "ちなみに"),
    "ru": ("Кстати, ", "И ", "Ладно, "),
}


@dataclass
class Language:
    """Frames by label, and the lists that fill them."""

    lists: dict[str, list[str]] = field(default_factory=dict)
    frames: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("does", choices=("check", "write"))
    parser.add_argument("--real", type=Path, help="labelled sentences of real sessions, which are not published")
    options = parser.parse_args()
    real = read_real(options.real) if options.real else []
    languages = {path.stem: read(path) for path in sorted(DATA.glob("??.txt"))}
    held = [line.split("\t") for line in (DATA / "held_out.tsv").read_text("utf-8").splitlines() if line]
    if options.does == "check":
        trained, tested = split(languages)
        model = train(draw(trained, PER_LABEL) + real)
        layer = fit_layer(draw(trained, PER_LABEL_OF_LAYER) + real)
        report("held-out frames", model, layer, draw(tested, 40))
    else:
        model = train(draw(languages, PER_LABEL) + real)
        layer = fit_layer(draw(languages, PER_LABEL_OF_LAYER) + real)
        SHIPPED_WEIGHTS.write_bytes(quantised(model, layer))
        print(f"{SHIPPED_WEIGHTS.name}: {SHIPPED_WEIGHTS.stat().st_size:,} bytes")
    report("hand-written", model, layer, [(language, label, text) for language, label, text in held])
    return 0


def read(path: Path) -> Language:
    language = Language()
    label = ""
    for line in (DATA / "shared.txt").read_text("utf-8").splitlines() + path.read_text("utf-8").splitlines():
        if line.startswith("@"):
            name, _, values = line[1:].partition(" = ")
            language.lists[name] = values.split("|")
        elif line.startswith("# "):
            label = line[2:]
        elif line:
            language.frames[label].append(line)
    return language


def read_real(path: Path) -> list[tuple[str, str, str]]:
    """Read labelled sentences; one that states nothing is a remark, or a request if it asks."""
    examples = []
    for line in path.read_text("utf-8").splitlines():
        label, _, text = line.partition("\t")
        if label == "-":
            examples += [("real", "request" if "?" in text else "chatter", text)] * REAL_NEGATIVES
        else:
            examples += [("real", label, text)] * REAL_STATEMENTS
    return examples


def split(languages: dict[str, Language]) -> tuple[dict[str, Language], dict[str, Language]]:
    """Return the languages without every fifth frame, and with only those."""
    parts = []
    for held in (False, True):
        part = {}
        for name, language in languages.items():
            frames = {
                label: [one for at, one in enumerate(every) if (at % 5 == 2) == held]
                for label, every in language.frames.items()
            }
            part[name] = Language(language.lists, frames)
        parts.append(part)
    return parts[0], parts[1]


def draw(languages: dict[str, Language], most: int) -> list[tuple[str, str, str]]:
    """Return (language, label, sentence), each sentence once."""
    source = random.Random(7)
    drawn = []
    for name, language in languages.items():
        for label, frames in language.frames.items():
            wanted = int(most * (ENGLISH if name == "en" else 1) * (TALK if label in ("request", "chatter") else 1))
            found = {}
            for _ in range(wanted):
                sentence = vary(fill(source.choice(frames), language, source), name, source) if frames else ""
                found[sentence] = None
            drawn += [(name, label, one) for one in found if one]
            if name == "en" and label not in NOTHING_TO_KEEP:
                drawn += [(name, "chatter", one) for one in cut(list(found), source)]
    source.shuffle(drawn)
    return drawn


def cut(sentences: list[str], source: random.Random) -> list[str]:
    """Return the beginnings of some sentences, up to a small word."""
    beginnings = []
    for sentence in source.sample(sentences, int(CUT * len(sentences))):
        words = sentence.split()
        ends = [at for at, word in enumerate(words[:-1], start=1) if at > 2 and word.lower() in SMALL_WORDS]
        beginnings += [" ".join(words[: source.choice(ends)])] if ends else []
    return beginnings


def fill(frame: str, language: Language, source: random.Random) -> str:
    """Choose the alternatives and fill the slots of a frame."""
    text = re.sub(r"\[([^\]]*)\]", lambda found: source.choice(found[1].split("|")), frame)
    for _ in range(2):  # lists may have slots, too
        text = re.sub(r"\{(\w+)\}", lambda found: choose(found[1], language, source), text)
    text = " ".join(text.split()) if language.lists.get("thing") else text
    return text[:1].upper() + text[1:] if frame[:1] in "[{" or frame[:1].isupper() else text


def choose(slot: str, language: Language, source: random.Random) -> str:
    """Choose a value for a slot; names are invented at times, because nobody can list them all."""
    if slot not in INVENTED or source.random() > INVENTED[slot]:
        return source.choice(language.lists[slot])
    syllables = (source.choice("bdfgklmnprstvz") + source.choice("aeiou") + source.choice(ENDS) for _ in range(4))
    return "".join(list(syllables)[: source.choice((2, 3, 3, 4))]).capitalize()


def vary(sentence: str, language: str, source: random.Random) -> str:
    """Begin, case and end a sentence as people do."""
    drawn = source.random()
    if drawn < 0.15:
        return source.choice(LEADS[language]) + sentence[:1].lower() + sentence[1:]
    if drawn < 0.25:
        return sentence.rstrip(".。!")
    return sentence.lower() if drawn < 0.3 else sentence


def matrix(sentences: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of the sparse features."""
    rows, columns, values = [], [], []
    for row, sentence in enumerate(sentences):
        for bucket, value in extract_features(sentence).items():
            rows.append(row)
            columns.append(bucket)
            values.append(value)
    return np.array(rows, np.int32), np.array(columns, np.int32), np.array(values, np.float32)


Model = tuple[np.ndarray, np.ndarray]


def train(examples: list[tuple[str, str, str]]) -> Model:
    """Fit a softmax over the labels by mini-batches with Adagrad."""
    weights = np.zeros((BUCKETS, len(LABELS)), np.float32)
    biases = np.zeros(len(LABELS), np.float32)
    squares = np.full_like(weights, 1e-4)
    targets = np.array([LABELS.index(label) for _, label, _ in examples])
    rows, columns, values = matrix([text for _, _, text in examples])
    starts = np.searchsorted(rows, np.arange(len(examples) + 1))
    order = np.arange(len(examples))
    generator = np.random.default_rng(11)
    smooth = 0.02  # of the target, spread over all labels
    for _ in range(EPOCHS):
        generator.shuffle(order)
        for at in range(0, len(order), 64):
            batch = order[at : at + 64]
            picked = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in batch])
            local = np.repeat(np.arange(len(batch)), starts[batch + 1] - starts[batch])
            logits = np.zeros((len(batch), len(LABELS)), np.float32) + biases
            np.add.at(logits, local, weights[columns[picked]] * values[picked, None])
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            wanted = np.full_like(shares, smooth / len(LABELS))
            wanted[np.arange(len(batch)), targets[batch]] += 1 - smooth
            error = (shares - wanted) / len(batch)
            touched, inverse = np.unique(columns[picked], return_inverse=True)
            gradient = np.zeros((len(touched), len(LABELS)), np.float32)
            np.add.at(gradient, inverse, error[local] * values[picked, None])
            gradient += DECAY * weights[touched]
            squares[touched] += gradient**2
            weights[touched] -= RATE * gradient / np.sqrt(squares[touched])
            biases -= 0.05 * error.sum(axis=0)
    return weights, biases


Layer = tuple[np.ndarray, np.ndarray, np.ndarray]


def train_layer(vectors: np.ndarray, targets: np.ndarray) -> Layer:
    """Fit a hidden layer and an output layer over vectors with Adam and dropout."""
    generator = np.random.default_rng(5)
    hidden = generator.normal(0, 2 / np.sqrt(DIMENSIONS), (DIMENSIONS, HIDDEN)).astype(np.float32)
    parameters = [hidden, np.zeros(HIDDEN, np.float32), np.zeros((HIDDEN + 1, len(LABELS)), np.float32)]
    parameters[2][:-1] = generator.normal(0, 0.2, (HIDDEN, len(LABELS)))
    means, squares = ([np.zeros_like(one) for one in parameters] for _ in range(2))
    steps = 0
    for _ in range(LAYER_EPOCHS):
        order = generator.permutation(len(vectors))
        for at in range(0, len(order), 256):
            batch = order[at : at + 256]
            inputs = vectors[batch] * SPREAD
            mask = (generator.random((len(batch), HIDDEN)) > 0.2) / 0.8
            units = np.maximum(inputs @ parameters[0] + parameters[1], 0) * mask
            logits = units @ parameters[2][:-1] + parameters[2][-1]
            shares = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            wanted = np.full_like(shares, 0.04 / len(LABELS))
            wanted[np.arange(len(batch)), targets[batch]] += 0.96
            error = (shares - wanted) / len(batch)
            back = (error @ parameters[2][:-1].T) * (units > 0) * mask
            output = np.concatenate([units.T @ error, error.sum(axis=0, keepdims=True)])
            gradients = [inputs.T @ back + 1e-4 * parameters[0], back.sum(axis=0), output]
            steps += 1
            for index, gradient in enumerate(gradients):
                means[index] = 0.9 * means[index] + 0.1 * gradient
                squares[index] = 0.999 * squares[index] + 0.001 * gradient**2
                step = means[index] / (1 - 0.9**steps) / (np.sqrt(squares[index] / (1 - 0.999**steps)) + 1e-8)
                parameters[index] = (parameters[index] - 0.002 * step).astype(np.float32)
    return parameters[0] * SPREAD, parameters[1], parameters[2] * SHARE_OF_LAYER


def embed(texts: list[str]) -> np.ndarray:
    """Return the vectors of the shipped model; zero for scripts that it cannot read."""
    model = load_embedder()
    return np.array([np.frombuffer(model.embed([text[:LONGEST]])[0], "<f4") for text in texts], np.float32)


def fit_layer(examples: list[tuple[str, str, str]]) -> Layer:
    texts = list(dict.fromkeys(text for _, _, text in examples))
    vector_of = dict(zip(texts, embed(texts), strict=True))
    readable = [(label, vector_of[text]) for _, label, text in examples if vector_of[text].any()]
    targets = np.array([LABELS.index(label) for label, _ in readable])
    return train_layer(np.array([vector for _, vector in readable]), targets)


def quantised(model: Model, layer: Layer) -> bytes:
    weights, biases = model
    scales = np.abs(weights).max(axis=0) / 127
    whole = np.round(weights / scales).astype(np.int8)
    hidden, unit_biases, output = layer
    unit_scales = np.abs(hidden).max(axis=0) / 127
    units = np.round(hidden / unit_scales).astype(np.int8).T
    floats = [one.astype("<f4").tobytes() for one in (scales, biases, unit_scales, unit_biases, output)]
    return pack_weights(b"".join(floats), units.tobytes(), whole.tobytes())


def predict(model: Model, layer: Layer, texts: list[str]) -> np.ndarray:
    weights, biases = model
    rows, columns, values = matrix(texts)
    logits = np.zeros((len(texts), len(LABELS)), np.float32) + biases
    np.add.at(logits, rows, weights[columns] * values[:, None])
    vectors = embed(texts)
    hidden, unit_biases, output = layer
    added = np.maximum(vectors @ hidden + unit_biases, 0) @ output[:-1] + output[-1]
    return logits + added * vectors.any(axis=1, keepdims=True)


def report(title: str, model: Model, layer: Layer, examples: list[tuple[str, str, str]]) -> None:
    logits = predict(model, layer, [text for _, _, text in examples])
    said = [LABELS[at] for at in logits.argmax(axis=1)]
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    for (language, label, _), answer in zip(examples, said, strict=True):
        for key in (language, label, "all"):
            total[key] += 1
            right[key] += label == answer
        if label != answer:
            wrong[label, answer] += 1
    print(title, "  ".join(f"{key} {right[key] / total[key]:.2f}" for key in sorted(total)))
    print("   most confused:", "  ".join(f"{one}→{other} {times}" for (one, other), times in wrong.most_common(12)))


if __name__ == "__main__":
    sys.exit(main())
