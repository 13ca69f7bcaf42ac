-- Projects of files, and adding them to the daemon.
local config = require("hunch.config")
local daemon = require("hunch.daemon")

local M = {}

local roots = {} -- folder → root of its repository, or false
local refused = {} -- roots and folders that must not be added

-- A restarted daemon may know other projects.
daemon.on_return(function()
  refused = {}
end)

-- Return {project, path, file, in_git} of an absolute path, `file`; `path` is relative to the project. Outside of a
-- repository `project` is the file's folder: the daemon finds the plain folder that contains it, if one was added.
function M.place(path)
  local folder = vim.fs.dirname(path)
  local root = roots[folder]
  if root == nil then
    local found = vim.fs.find(".git", { upward = true, path = folder, limit = 1 })[1]
    root = found and vim.fs.dirname(found) or false
    roots[folder] = root
  end
  if not root then
    return { project = folder, path = path, file = path, in_git = false }
  end
  return { project = root, path = path:sub(#root:gsub("/$", "") + 2), file = path, in_git = true }
end

function M.is_refused(project)
  return refused[project] == true
end

local function may_add(place)
  if not place.in_git or place.project == vim.uv.os_homedir() then
    return false
  end
  local add = config.options.add
  if type(add) == "function" then
    return add(place.project) and true or false
  end
  return add
end

-- Add a project that the daemon rejected as unknown, if allowed. Calls `done(known, message)`.
function M.add(place, done)
  if not may_add(place) then
    refused[place.project] = true
    return done(false, place.project .. " is not known to hunchd: `hunch add " .. place.project .. "` adds it")
  end
  daemon.ask({ method = "POST", path = "/projects", body = { path = place.project } }, function(failure)
    if failure and failure.kind == "refused" then
      refused[place.project] = true
    end
    done(not failure, failure and failure.message)
  end)
end

return M
