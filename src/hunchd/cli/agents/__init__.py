"""Integration with coding agents: changes to their settings, and the hooks that they call.

`supported_agents` lists, for each agent, its settings files and what is added to them. `jsonc`, `toml` and `yaml` edit
a file as text and leave the rest of it unchanged; `settings_files` writes, backs up and restores files. Hooks pass
their payload to the daemon: `shell/agent-hook` does so with curl, `agent_hook_client` where curl is missing.
"""
