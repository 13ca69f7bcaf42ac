"""In-memory state of projects, the protocol for features and the event stream."""
