"""Whether a study is still the one that somebody means: an id that was free may be given again."""

from hentropy.errors import Gone
from hentropy.studies.records import StudyRecord
from hentropy.views.text.formats import iso


def check_meant(record: StudyRecord, begun: str) -> None:
    """`Gone` if the study that was begun at that time, in the words of `iso`, is not this one."""
    if begun != iso(record.created_at):
        raise Gone(
            f"the study that was meant, begun at {begun or 'an unknown time'}, was deleted; another has its place"
            f" {record.id}, and nothing was changed"
        )
