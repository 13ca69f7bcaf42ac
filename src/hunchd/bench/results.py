"""Results of replaying one repository."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ReplayResults:
    """Results of replaying one repository.

    The tasks fill in the fields, and the report reads them. `rows` contains metric values by task and method,
    `confidences` and `following` contain values by task, and `milliseconds` contains the time that each prediction
    took.
    """

    repository: str
    rows: dict[str, dict[str, list[tuple[str, tuple[float, ...]]]]] = field(default_factory=dict)
    # Confidence, first file is right, has gold.
    confidences: dict[str, list[tuple[float, bool, bool]]] = field(default_factory=dict)
    following: dict[str, list[tuple[str, tuple[float, ...]]]] = field(default_factory=dict)  # next in ten, by task
    milliseconds: list[float] = field(default_factory=list)
    units: int = 0
    scored_units: int = 0
    new_file_share: float = 0.0  # mean share of a scored unit's files that it creates, which are unpredictable
    provenance: str = ""
