"""Who may come in, and how much: every request passes here before a route sees it."""
