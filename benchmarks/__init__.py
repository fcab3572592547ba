"""Benchmarks: this project and its peers side by side, in one run, as ratios of medians over several posteriors."""
