"""What methods are compared on, and with: problems and baselines."""
