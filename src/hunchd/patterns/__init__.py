"""Mining and description of code patterns, and of the places where they usually occur."""
