"""JSON Schemas shared by requests and responses, under their names in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hunchd.protocol.exports import ExportLine, ImportedAnswer
from hunchd.protocol.knowledge_answers import FeedbackAnswer, IdsAnswer, MemoryUsageAnswer, UnderstoodAnswer
from hunchd.protocol.memories import MemoryBody, MemoryDrafts, MemoryPatch, MemoryRecord
from hunchd.protocol.predictions import PredictionAnswer
from hunchd.protocol.requests import (
    AssembleRequest,
    ContradictionReport,
    ExpandRequest,
    Feedback,
    ListSlice,
    NewProject,
    PredictRequest,
    ResolutionRequest,
    ReviewRequest,
    SearchBody,
    ShareRequest,
)
from hunchd.protocol.responses import (
    AcceptedAnswer,
    BundleAnswer,
    ErrorAnswer,
    ErrorEnvelope,
    ForgottenAnswer,
    HealthAnswer,
    ProjectAnswer,
    Rejection,
    RemovedAnswer,
    ReviewAnswer,
)
from hunchd.protocol.search_results import ExpandAnswer, SearchAnswer
from hunchd.protocol.signals import BODY_OF_KIND, SignalBody, SignalsBody
from hunchd.protocol.status_answers import StatusAnswer
from hunchd.protocol.struct_schemas import Schema, build_component_schemas, list_query_parameters

TEXT: Final[Schema] = {"type": "string"}
ANY_OBJECT: Final[Schema] = {"type": "object"}
# Parameters for a slice of a complete list.
SLICE_PARAMETERS: Final = list_query_parameters(ListSlice)


def schema_reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def build_signal_schema() -> Schema:
    """Return one schema for all kinds of signals.

    It has the fields of every kind. Only the fields that every kind requires are required.
    """
    bodies = {each.__name__: each for each in BODY_OF_KIND.values()}
    schemas = build_component_schemas(bodies).values()
    common = build_component_schemas({"Signal": SignalBody})["Signal"]
    properties = dict(common["properties"])
    for schema in schemas:
        for name, each in schema["properties"].items():
            if name not in properties or "description" not in properties[name]:
                properties[name] = each
    return common | {"properties": properties}


STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "Accepted": AcceptedAnswer,
    "AssembleRequest": AssembleRequest,
    "Bundle": BundleAnswer,
    "Error": ErrorEnvelope,
    "ErrorBody": ErrorAnswer,
    "Expanded": ExpandAnswer,
    "ExpandRequest": ExpandRequest,
    "ExportLine": ExportLine,
    "Feedback": Feedback,
    "FeedbackCounted": FeedbackAnswer,
    "Forgotten": ForgottenAnswer,
    "Health": HealthAnswer,
    "Ids": IdsAnswer,
    "Imported": ImportedAnswer,
    "Memory": MemoryRecord,
    "MemoryDraft": MemoryBody,
    "MemoryDrafts": MemoryDrafts,
    "MemoryPatch": MemoryPatch,
    "MemoryUsage": MemoryUsageAnswer,
    "NewProject": NewProject,
    "Opposition": ContradictionReport,
    "Prediction": PredictionAnswer,
    "PredictRequest": PredictRequest,
    "Project": ProjectAnswer,
    "Rejection": Rejection,
    "Removed": RemovedAnswer,
    "Resolution": ResolutionRequest,
    "Review": ReviewAnswer,
    "ReviewRequest": ReviewRequest,
    "SearchRequest": SearchBody,
    "SearchResults": SearchAnswer,
    "ShareRequest": ShareRequest,
    "Signal": SignalBody,
    "Signals": SignalsBody,
    "Status": StatusAnswer,
    "Understood": UnderstoodAnswer,
}
