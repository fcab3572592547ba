"""The study that a form is about: the one that its page showed, not another that has its id by now."""

from typing import Annotated

from fastapi import Depends
from fastapi import Form as Field

from hentropy.studies.records import StudyRecord
from hentropy.views.server.meaning import check_meant
from hentropy.views.server.services import Here


def meant(study_id: int, here: Here, begun: Annotated[str, Field()] = "") -> StudyRecord:
    """The study of a form, which says when it was begun; what follows is done with this record alone."""
    record = here.desk.record(study_id)
    check_meant(record, begun)
    return record


Meant = Annotated[StudyRecord, Depends(meant)]
"""An argument of a route that takes a form: its study."""
