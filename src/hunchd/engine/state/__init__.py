"""In-memory state: projects, events, and the dependencies of the engine."""
