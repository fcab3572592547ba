"""A study in plain text: sentences, tables, JSON and CSV, the same on the command line and on the page."""
