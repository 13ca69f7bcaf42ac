"""What fits: candidates in, one bundle within the budget out. Pure; the engine hands in everything it needs."""
