"""The report of a study: one HTML file that opens anywhere, with no network. Needs the extra `report`."""

from hentropy.views.report.contents import Contents, PictureShown, contents
from hentropy.views.report.page import report_html

__all__ = ["Contents", "PictureShown", "contents", "report_html"]
