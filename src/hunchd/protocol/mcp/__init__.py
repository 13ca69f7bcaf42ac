"""The Model Context Protocol without any I/O: what a message asks of the daemon, and what is answered.

`wire` knows messages and revisions, `catalogue` what is offered, `tools`, `resources` and `prompts` what is behind it.
Whoever serves it (`cli/mcp.py` over stdio, `serving/mcp.py` over HTTP) drives a `Conversation`: carries out each step
it yields and sends the answer back in.
"""
