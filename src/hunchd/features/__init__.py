"""Features of the engine, independent of each other; each implements `hunchd.core.state.feature.Feature`."""
