"""Model Context Protocol, implemented without a transport.

`jsonrpc` implements messages and protocol versions, `catalogue` lists the tools, resources and prompts on offer, and
`tools`, `resources` and `prompts` implement them. `serving/mcp_handler.py` answers messages over HTTP;
`cli/mcp_server.py` forwards them to it from standard input.
"""
