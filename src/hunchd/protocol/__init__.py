"""Protocols at the edges: JSON messages, the rendezvous file, helper processes."""
