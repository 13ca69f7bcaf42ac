"""How the parts outside and inside speak: JSON messages, the rendezvous file, child processes."""
