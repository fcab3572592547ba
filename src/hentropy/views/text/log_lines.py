"""One JSON object per line, with its date: what programs write that others collect."""

import logging
import time
from typing import Any

from hentropy.views.text.formats import iso
from hentropy.views.text.plain_json import json_text

FIELDS = "fields"
"""What a log record calls values that belong to it: `LOG.info("...", extra={FIELDS: {...}})`."""


def event_line(event: str, **fields: Any) -> str:
    """Something that happened just now."""
    return json_text({"at": iso(time.time()), "event": event, **fields})


class JsonLines(logging.Formatter):
    """Formats log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line = {"at": iso(record.created), "event": "log", "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage(), **vars(record).get(FIELDS, {})}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json_text(line)
