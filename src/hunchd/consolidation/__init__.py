"""Condense, judge, forget: what should become of memories, decided by pure functions. Nobody writes anything here."""
