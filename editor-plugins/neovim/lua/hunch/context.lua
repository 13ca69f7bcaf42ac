-- Cache of the contexts of files: fetches them with ETags and notifies about changes.
local config = require("hunch.config")
local daemon = require("hunch.daemon")
local projects = require("hunch.projects")

local M = {}

local kept = {} -- cache: path → {bundle, etag}
local order = {} -- paths, the newest last
local MOST = 40 -- cached bundles; 30 kB each
local PATIENCE = 15000 -- ms for a request by the user

daemon.on_return(function()
  kept, order = {}, {}
end)

local function keep(path, bundle)
  if not kept[path] then
    order[#order + 1] = path
    if #order > MOST then
      kept[table.remove(order, 1)] = nil
    end
  end
  kept[path] = bundle
  vim.api.nvim_exec_autocmds("User", { pattern = "HunchContext", modeline = false, data = { path = path } })
end

-- Return the cached bundle of `path`, or nil; sends no request.
function M.known(path)
  return kept[path]
end

local function ask(path, options, done, introduced)
  local place = projects.place(path)
  local before = not options.query and kept[path] or nil
  local send = options.wanted and daemon.ask_or_start or daemon.ask
  send({
    method = "GET",
    path = "/context",
    query = {
      project = place.project,
      file = place.path,
      query = options.query,
      budget = config.options.budget,
    },
    headers = before and before.etag and { ["If-None-Match"] = ('"%s"'):format(before.etag) } or nil,
    timeout = PATIENCE,
  }, function(failure, bundle, status)
    if failure and failure.status == 404 and not introduced then
      return projects.add(place, function(known, message)
        if not known then
          return done({ kind = "unknown", message = message })
        end
        ask(path, options, done, true)
      end)
    end
    if failure then
      return done(failure)
    end
    if status == 304 then
      return done(nil, before, false)
    end
    if not options.query then
      keep(path, bundle)
    end
    done(nil, bundle, true)
  end)
end

-- Fetch the context of `path`. `options`: query (a question of the user), wanted (the user waits: start the daemon if
-- there is none). Calls `done(failure, bundle, changed)`.
function M.fetch(path, options, done)
  ask(path, options, done)
end

-- Fetch it in the background; failures are ignored.
function M.refresh(path)
  if projects.is_refused(projects.place(path).project) then
    return
  end
  ask(path, {}, function() end)
end

return M
