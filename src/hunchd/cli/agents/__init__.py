"""Coding agents: what is written into their settings, and what their hooks do when they are called.

`known` says for each agent which files get what; `jsonc`, `toml` and `yaml` change a file as text and leave the rest
of it as it is; `files` writes, keeps what was there and gives it back. Hooks hand what they are told to the daemon:
`shell/agent-hook` does that with curl, `hook` where there is none.
"""
