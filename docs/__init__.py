"""The documentation site: pages, and the extensions of Sphinx that build them."""
