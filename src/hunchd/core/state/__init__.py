"""In-memory state of projects, the feature protocol and the event stream."""
