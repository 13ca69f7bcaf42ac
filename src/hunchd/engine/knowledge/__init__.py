"""What is known, as its owner sees it: looked up, corrected, exported, shared."""
