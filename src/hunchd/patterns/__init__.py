"""Mining, description and usual place of code patterns."""
