-- `:checkhealth hunch`; the only blocking code.
local M = {}

local PATIENCE = 3000 -- ms

local function asked(request)
  local failure, answer, done
  require("hunch.daemon").ask(request, function(trouble, said)
    failure, answer, done = trouble, said, true
  end)
  vim.wait(PATIENCE, function()
    return done
  end, 10)
  return failure or (not done and { message = "the daemon does not answer" } or nil), answer
end

local function check_daemon()
  local health = vim.health
  local rendezvous = require("hunch.rendezvous")
  local told, reason = rendezvous.read()
  health.info("rendezvous file: " .. rendezvous.file())
  if not told then
    return health.warn(reason, { "`:Hunch` or `hunch start` in a terminal starts it" })
  end
  local failure, answer = asked({ method = "GET", path = "/health" })
  if failure then
    return health.error(failure.message, { "`hunch doctor` in a terminal finds out why" })
  end
  health.ok(("the daemon answers: version %s, protocol %d, process %d"):format(answer.version, answer.protocol, told.pid))
  local trouble, status = asked({ method = "GET", path = "/status" })
  if trouble then
    return health.error(trouble.message)
  end
  for _, each in ipairs(status.degraded or {}) do
    health.warn(each)
  end
  for _, project in ipairs(status.projects or {}) do
    health.info(("%s: %s, branch %s"):format(project.path, project.state, project.branch))
  end
end

local function check_signals()
  local health = vim.health
  local waiting = require("hunch.signals").pending()
  if waiting > 0 then
    health.warn(waiting .. " signals wait for a daemon")
  else
    health.ok("no signals are queued")
  end
  local trouble = require("hunch.daemon").trouble
  if trouble then
    health.warn("last failure: " .. trouble)
  end
end

function M.check()
  local config = require("hunch.config").options
  vim.health.start("hunch")
  vim.health.ok("Neovim " .. tostring(vim.version()))
  if vim.fn.executable(config.command) == 1 then
    vim.health.ok(("`%s` is %s"):format(config.command, vim.fn.exepath(config.command)))
  else
    vim.health.warn(("there is no `%s`: the daemon cannot be started from here"):format(config.command), {
      "install hunchd, or name it: require('hunch').setup({ command = '/path/to/hunch' })",
    })
  end
  vim.health.start("the daemon")
  check_daemon()
  vim.health.start("signals")
  check_signals()
end

return M
