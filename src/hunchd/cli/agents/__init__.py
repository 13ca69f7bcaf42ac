"""Integration with coding agents: edits to their settings, and the hooks that they call.

`supported_agents` lists, for each agent, its settings files and the entries that hunchd adds to them. `jsonc`, `toml`
and `yaml` edit a file as text and leave the rest of it unchanged; `settings_files` writes, backs up and restores the
files. A hook passes its payload to the daemon: `shell/agent-hook` does so with curl, `agent_hook_client` where curl is
missing.
"""
