"""Integration with coding agents: edits of their settings, and the hooks that they call.

`known` lists for each agent which files get what; `jsonc`, `toml` and `yaml` edit a file as text and leave the rest of
it unchanged; `files` writes, backs up and restores. Hooks pass their payload to the daemon: `shell/agent-hook` with
curl, `hook` where curl is missing.
"""
