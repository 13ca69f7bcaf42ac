-- Options with their defaults.
local M = {}

M.options = {
  -- Run `hunch start` when no daemon is found: once automatically, and for each request by the user.
  start = true,
  -- Command that starts the daemon.
  command = "hunch",
  -- Add unknown git repositories to the daemon: true, false, or a function(root) that decides.
  -- A home folder that is itself a repository is never added.
  add = true,
  -- Report diagnostics of language servers and linters.
  diagnostics = true,
  -- Tokens of a context; nil leaves it to the daemon (8,000).
  budget = nil,
  -- The window of `:Hunch`.
  window = {
    position = "auto", -- "right" if there is room, else "below"; or one of these, "left", "current"
    width = 62, -- columns; "below" takes a third of the screen
    follow = true, -- follow the current file
  },
  -- Keys in that window; false disables one.
  keys = {
    open = "<CR>",
    split = "s",
    vsplit = "v",
    tab = "t",
    helpful = "+",
    not_helpful = "-",
    forget = "x",
    why = "K",
    fold = "<Tab>",
    next = "]]",
    previous = "[[",
    copy = "y",
    refresh = "r",
    help = "?",
    close = "q",
  },
}

function M.set(options)
  for name in pairs(options) do
    -- `budget` has no default and therefore no key.
    if M.options[name] == nil and name ~= "budget" then
      local known = vim.tbl_keys(M.options)
      vim.list_extend(known, { "budget" })
      table.sort(known)
      error(("hunch has no option '%s'. It has: %s"):format(name, table.concat(known, ", ")), 0)
    end
  end
  M.options = vim.tbl_deep_extend("force", M.options, options)
end

return M
