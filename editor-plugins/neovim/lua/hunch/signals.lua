-- Queue of signals to the daemon: in order, each once, and never blocking.
local daemon = require("hunch.daemon")
local projects = require("hunch.projects")

local M = {}

local uv = vim.uv
local SOON = 150 -- ms: events of one keystroke are sent together
local MOST = 200 -- signals queued while there is no daemon; the oldest are dropped first
local FIRST_PAUSE, LONGEST_PAUSE = 1000, 15000 -- ms between attempts

local pending = {} -- {kind, place, fields, id, at}
local sending = false
local under_way = {} -- signals sent and not yet answered
local pause = FIRST_PAUSE
local timer -- created on demand
local session -- prefix of the event ids of this Neovim
local number = 0
local sent_hooks = {}

function M.pending()
  return #pending
end

-- Return true if an opening of `path` is pending or under way.
function M.will_tell(path)
  for _, signals in ipairs({ pending, under_way }) do
    for _, signal in ipairs(signals) do
      if signal.kind == "file_opened" and signal.place.file == path then
        return true
      end
    end
  end
  return false
end

-- Call `run` after signals were accepted.
function M.on_sent(run)
  sent_hooks[#sent_hooks + 1] = run
end

-- Format a time (seconds, with fractions) for the daemon.
local function iso(moment)
  return os.date("!%Y-%m-%dT%H:%M:%S", math.floor(moment)) .. (".%03dZ"):format(math.floor(moment % 1 * 1000))
end

local function now()
  local seconds, microseconds = uv.gettimeofday()
  return seconds + microseconds / 1e6
end

local function next_id()
  if not session then
    session = ("nvim-%x-%x"):format(uv.os_getpid(), uv.hrtime())
  end
  number = number + 1
  return ("%s-%d"):format(session, number)
end

local function wire(signal)
  return vim.tbl_extend("force", {
    kind = signal.kind,
    project = signal.place.project,
    event_id = signal.id,
    at = signal.at,
    source = "editor",
  }, signal.fields)
end

local function body_of(signals)
  return { signals = vim.tbl_map(wire, signals) }
end

local flush

local function schedule(delay)
  timer = timer or assert(uv.new_timer())
  timer:start(delay, 0, vim.schedule_wrap(function()
    flush()
  end))
end

local function put_back(batch)
  vim.list_extend(batch, pending)
  pending = vim.list_slice(batch, math.max(1, #batch - MOST + 1))
end

local function try_again()
  schedule(pause)
  pause = math.min(pause * 2, LONGEST_PAUSE)
end

-- Add the projects of signals rejected as unknown, and send these again.
local function introduce(signals)
  local by_project = {}
  for _, signal in ipairs(signals) do
    local of = by_project[signal.place.project] or {}
    by_project[signal.place.project] = of
    if not signal.again then
      signal.again = true
      of[#of + 1] = signal
    end
  end
  for _, of in pairs(by_project) do
    if #of > 0 then
      projects.add(of[1].place, function(known)
        if known then
          put_back(of)
          schedule(0)
        end
      end)
    end
  end
end

local function accepted(batch, answer)
  local strangers = {}
  for _, rejection in ipairs(answer.rejected or {}) do
    if (rejection.error or {}).code == "not_found" then
      strangers[#strangers + 1] = batch[rejection.index + 1]
    end
  end
  introduce(strangers)
  if #strangers < #batch then
    for _, run in ipairs(sent_hooks) do
      run()
    end
  end
end

-- Temporary rejections: a replaced token, too many requests, a starting component, a full disk.
local PASSING = { [401] = true, [429] = true, [503] = true, [507] = true }

function flush()
  if sending or #pending == 0 then
    return
  end
  local batch = vim.tbl_filter(function(signal)
    return not projects.is_refused(signal.place.project)
  end, pending)
  pending = {}
  if #batch == 0 then
    return
  end
  sending, under_way = true, batch
  daemon.ask({ method = "POST", path = "/signals", body = body_of(batch) }, function(failure, answer)
    sending, under_way = false, {}
    if not failure then
      pause = FIRST_PAUSE
      accepted(batch, answer)
      if #pending > 0 then
        schedule(0)
      end
    elseif failure.kind ~= "refused" or PASSING[failure.status] then
      put_back(batch)
      try_again()
      if failure.kind == "absent" then
        daemon.start_once(function()
          schedule(0)
        end)
      end
    end
  end)
end

-- Retry after another request was answered.
daemon.on_answer(function()
  if #pending > 0 and not sending then
    schedule(0)
  end
end)

-- Queue a signal about `place` (see `projects.place`); `at` in seconds, default now.
function M.add(kind, place, fields, at)
  pending[#pending + 1] = { kind = kind, place = place, fields = fields, id = next_id(), at = iso(at or now()) }
  if #pending > MOST then
    table.remove(pending, 1)
  end
  pause = FIRST_PAUSE
  schedule(SOON)
end

-- Flush at exit: pending signals get `patience` ms if the daemon has answered until now.
function M.last_words(patience)
  if #pending == 0 or daemon.trouble then
    return
  end
  local done = false
  local batch = pending
  pending = {}
  daemon.ask({ method = "POST", path = "/signals", body = body_of(batch), timeout = patience }, function()
    done = true
  end)
  vim.wait(patience, function()
    return done
  end, 2)
end

return M
