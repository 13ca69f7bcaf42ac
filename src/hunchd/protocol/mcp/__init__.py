"""Model Context Protocol, implemented without I/O.

The package parses messages, yields requests to the daemon and builds responses. `jsonrpc` implements messages and
protocol versions, `catalogue` lists the tools, resources and prompts on offer, and `tools`, `resources` and `prompts`
implement them. The transports (`cli/mcp_server.py` over stdio, `serving/mcp_handler.py` over HTTP) drive a
`Conversation`, a generator: they carry out each step it yields and send the result back in.
"""
