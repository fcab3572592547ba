"""The documentation site: `make docs` builds it into out/docs, without network access."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from hentropy import __version__  # noqa: E402

project = "hentropy"
author = "The hentropy developers"
copyright = author
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "docs.extensions.chooser",
    "docs.extensions.command_line",
    "docs.extensions.http_api",
    "docs.extensions.offline_math",
    "docs.extensions.repository_links",
]
exclude_patterns = ["extensions", "static", "**/.ipynb_checkpoints"]
templates_path: list[str] = []
default_role = "code"  # docstrings put code in single backticks
smartquotes = False  # texts in docstrings are code
suppress_warnings = ["misc.highlighting_failure"]  # parts of lines in the recipes of CONTRIBUTING.md

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "hentropy"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["chooser.js"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {name: list[str]() for name in ("index", "start", "which", "gallery")}
html_math_renderer = "mathml"
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "navigation_depth": 2,
    "show_prev_next": True,
    "use_edit_page_button": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
