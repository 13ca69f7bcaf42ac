"""Model Context Protocol without I/O.

Parses messages, yields requests to the daemon, builds responses. `wire` knows messages and revisions, `catalogue` the
tools, resources and prompts on offer, `tools`, `resources` and `prompts` implement them. The transports
(`cli/mcp_server.py` over stdio, `serving/mcp_handler.py` over HTTP) drive a `Conversation`: they carry out each step it
yields and send the result back in.
"""
