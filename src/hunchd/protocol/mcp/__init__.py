"""Model Context Protocol without I/O.

Parses messages, yields requests to the daemon, builds responses. `wire` knows messages and revisions, `catalogue` the
tools, resources and prompts on offer, `tools`, `resources` and `prompts` implement them. The transports (`cli/mcp.py`
over stdio, `serving/mcp.py` over HTTP) drive a `Conversation`: they carry out each step it yields and send the result
back in.
"""
