"""The small frozen values that a study is made of: trials and what was told of them, verdicts, the study itself."""

from hentropy.studies.records.prediction import Judged, Prediction, PredictionRecord
from hentropy.studies.records.trial import (
    UNKNOWN,
    Entry,
    Failed,
    Measurement,
    Observation,
    State,
    StoredVerdict,
    StudyRecord,
    ToldCost,
    Trial,
    Value,
    Values,
    earlier_rows,
    first_left,
    in_state,
    judged,
)
from hentropy.studies.records.verdict import CHANCE, LIMITS_HOLD, Comparison, Rival, Verdict

__all__ = [
    "CHANCE",
    "LIMITS_HOLD",
    "UNKNOWN",
    "Comparison",
    "Entry",
    "Failed",
    "Judged",
    "Measurement",
    "Observation",
    "Prediction",
    "PredictionRecord",
    "Rival",
    "State",
    "StoredVerdict",
    "StudyRecord",
    "ToldCost",
    "Trial",
    "Value",
    "Values",
    "Verdict",
    "earlier_rows",
    "first_left",
    "in_state",
    "judged",
]
