-- Client of the daemon: sends requests, starts it if necessary, and finds it after a restart.
local config = require("hunch.config")
local http = require("hunch.http")
local rendezvous = require("hunch.rendezvous")

local M = {
  protocol = 1,
  -- The last failure, for `:checkhealth hunch` and the statusline; nil after a successful request.
  trouble = nil,
}

local PATIENCE = 5000 -- ms for an answer; a busy machine may need one or two seconds
local START = 40000 -- ms for `hunch start`, which times out earlier
local LUANIL = { luanil = { object = true, array = true } }

local known -- token of the daemon that answered last
local returned = {} -- callbacks for when another daemon answers than before
local answers = {} -- callbacks for when a daemon answers after a failure
local starting -- callbacks waiting for a running `hunch start`
local tried = false -- true after an automatic start

-- Call `run` when another daemon answers than before: it does not know the open files.
function M.on_return(run)
  returned[#returned + 1] = run
end

-- Call `run` when a daemon answers after the last request had failed.
function M.on_answer(run)
  answers[#answers + 1] = run
end

local function encoded(text)
  return (text:gsub("[^%w%-._~/]", function(character)
    return ("%%%02X"):format(character:byte())
  end))
end

local function target(path, query)
  local pairs_ = {}
  for name, value in pairs(query or {}) do
    pairs_[#pairs_ + 1] = encoded(name) .. "=" .. encoded(tostring(value))
  end
  table.sort(pairs_)
  return path .. (#pairs_ > 0 and "?" .. table.concat(pairs_, "&") or "")
end

local function answered(daemon)
  local troubled = M.trouble
  M.trouble = nil
  for _, run in ipairs(troubled and answers or {}) do
    run()
  end
  local before = known
  known = daemon.token
  if before and before ~= known then
    for _, run in ipairs(returned) do
      run()
    end
  end
end

local function refusal(response, answer)
  local said = type(answer) == "table" and answer.error or {}
  return {
    kind = "refused",
    status = response.status,
    code = said.code,
    message = said.message or ("the daemon answered " .. response.status),
  }
end

-- `request`: {method, path, query?, body? (a table), headers?, timeout? (ms)}.
-- `done(failure, answer, status)`: a failure is {kind, message}; kinds are those of `http`, "protocol" for a daemon
-- with another protocol version, "refused" with status and code.
function M.ask(request, done, used_token)
  local daemon, reason = rendezvous.read()
  local failure
  if not daemon then
    failure = { kind = "absent", message = reason }
  elseif daemon.protocol ~= M.protocol then
    failure = {
      kind = "protocol",
      message = ("the daemon speaks protocol %s, this plugin %d: update the older one"):format(
        daemon.protocol,
        M.protocol
      ),
    }
  end
  if failure then
    M.trouble = failure.message
    return vim.schedule(function()
      done(failure)
    end)
  end
  http.request(daemon, {
    method = request.method,
    target = target(request.path, request.query),
    headers = request.headers,
    body = request.body and vim.json.encode(request.body),
    timeout = request.timeout or PATIENCE,
  }, function(broken, response)
    if broken then
      M.trouble = broken.message
      return done(broken)
    end
    -- The daemon may have just been restarted: the file has its new token by now.
    if response.status == 401 and used_token ~= daemon.token then
      return M.ask(request, done, daemon.token)
    end
    local good, answer = pcall(vim.json.decode, response.body ~= "" and response.body or "null", LUANIL)
    if not good then
      M.trouble = "the daemon's answer is not valid JSON"
      return done({ kind = "broken", message = M.trouble })
    end
    if response.status >= 400 then
      local refused = refusal(response, answer)
      M.trouble = response.status == 401 and refused.message or nil
      return done(refused, answer, response.status)
    end
    answered(daemon)
    done(nil, answer, response.status)
  end)
end

-- Run `hunch start` and call `done(failure)` when it has ended. Concurrent calls share one process.
function M.start(done)
  if starting then
    starting[#starting + 1] = done
    return
  end
  local command = config.options.command
  if vim.fn.executable(command) == 0 then
    return done({
      kind = "absent",
      message = ("no daemon is running, and there is no `%s` to start it: install hunchd, or set `command`"):format(command),
    })
  end
  starting = { done }
  vim.system({ command, "start" }, { text = true, timeout = START }, function(ended)
    vim.schedule(function()
      local failure
      if ended.code ~= 0 then
        local said = vim.trim((ended.stderr or "") .. (ended.stdout or "")):match("[^\n]*")
        failure = { kind = "absent", message = said ~= "" and said or "`hunch start` failed" }
        M.trouble = failure.message
      end
      local waiting = starting
      starting = nil
      for _, run in ipairs(waiting) do
        run(failure)
      end
    end)
  end)
end

-- Send a request of the user; if there is no daemon, start it and send the request again.
function M.ask_or_start(request, done)
  M.ask(request, function(failure, answer, status)
    if not failure or failure.kind ~= "absent" or not config.options.start then
      return done(failure, answer, status)
    end
    M.start(function(trouble)
      if trouble then
        return done(trouble)
      end
      M.ask(request, done)
    end)
  end)
end

-- Start the daemon automatically, once only, so that a daemon stopped by the user stays stopped. Calls `done()`.
function M.start_once(done)
  if tried or not config.options.start then
    return
  end
  tried = true
  M.start(function(failure)
    if not failure then
      done()
    end
  end)
end

return M
