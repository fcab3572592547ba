"""Bridges to other tools, each imported by those who use it."""
