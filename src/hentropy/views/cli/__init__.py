"""The command line: one file per command. Needs the extra `cli`."""
