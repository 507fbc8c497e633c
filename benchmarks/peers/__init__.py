"""Other sizers on the same rows and the same search. Each answers in an environment of its own; nothing of them is imported here."""
