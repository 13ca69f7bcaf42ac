"""Features of the engine, independent of each other.

Each implements `hunchd.core.state.feature.Feature`.
"""
