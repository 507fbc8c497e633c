"""Ranking, Pareto frontier, rationale and revalidation of a recorded choice."""
