"""The paper and the comparisons: problems, baselines and experiments."""
