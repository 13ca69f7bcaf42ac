"""Projects: registration, indexing, and models that follow the working tree."""
