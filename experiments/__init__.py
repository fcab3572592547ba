"""Comparisons: methods on tasks over many seeds, recorded step by step; and the paper's figures made of them."""
