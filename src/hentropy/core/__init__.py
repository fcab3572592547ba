"""The mathematics, with torch only: spaces, beliefs, models, decisions, the search for actions, gain and solvers."""
