"""Transcripts that coding agents left on this machine, read as sessions: one module an agent, nothing guessed."""
