"""The small frozen values that a study is made of: trials and verdicts."""

from hentropy.records.trial import State, Trial, Value
from hentropy.records.verdict import Verdict

__all__ = ["State", "Trial", "Value", "Verdict"]
