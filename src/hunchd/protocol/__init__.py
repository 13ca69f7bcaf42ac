"""Protocols for communication with other programs: JSON messages, the rendezvous file, helper processes."""
