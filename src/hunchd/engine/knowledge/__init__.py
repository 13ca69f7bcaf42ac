"""Memories as the user manages them: looked up, corrected, exported, shared."""
