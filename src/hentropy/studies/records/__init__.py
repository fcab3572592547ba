"""The small frozen values that a study is made of: trials and what was told of them, verdicts, the study itself."""

from hentropy.studies.records.trial import Entry, Observation, State, StoredVerdict, StudyRecord, Trial, Value
from hentropy.studies.records.verdict import Verdict

__all__ = ["Entry", "Observation", "State", "StoredVerdict", "StudyRecord", "Trial", "Value", "Verdict"]
