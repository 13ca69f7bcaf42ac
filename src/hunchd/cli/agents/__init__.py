"""Integration with coding agents: edits to their settings, and the hooks that they call.

`supported_agents` lists, for each agent, its settings files and the entries that hunchd adds to them. `jsonc`, `toml`
and `yaml` edit a file as text and leave the rest of it unchanged; `settings_files` writes, backs up and restores the
files. A hook sends its payload to the daemon: the script `shell/agent-hook` uses curl, and `agent_hook_client` does
the same where curl is missing.
"""
