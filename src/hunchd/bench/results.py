"""Results of replaying one repository."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class ReplayResults:
    """Results for one repository.

    The tasks fill them in, and the report reads them. `rows` are metric values by task and method, `confidences` and
    `following` are by task, and `milliseconds` is the time of each prediction.
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
