-- The options, each with its default.
local M = {}

M.options = {
  -- Run `hunch start` when no daemon is found: once by itself, and whenever you ask for something.
  start = true,
  -- The command that starts it.
  command = "hunch",
  -- Let the daemon read git repositories that it does not know yet: true, false, or a function(root) that decides.
  -- A home folder that is itself a repository is never added.
  add = true,
  -- Report the errors that language servers and linters find.
  diagnostics = true,
  -- Tokens of a context; nil leaves it to the daemon (8,000).
  budget = nil,
  -- The window of `:Hunch`.
  window = {
    position = "auto", -- "right" where there is room, else "below"; or one of these, "left", "current"
    width = 62, -- columns; "below" takes a third of the screen
    follow = true, -- show the file that you go to
  },
  -- Keys in that window; false leaves one out.
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
    -- `budget` has no default and so no key.
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
