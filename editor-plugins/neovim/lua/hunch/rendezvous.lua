-- Reader of the rendezvous file: the daemon writes it at each start, with a new address and token.
local M = {}

local uv = vim.uv
local LARGEST = 65536 -- bytes

-- The same folders as in the daemon: see `hunch doctor`.
function M.file()
  local home = vim.env.HUNCHD_HOME
  if home and home ~= "" then
    return vim.fs.normalize(home) .. "/run/daemon.json"
  end
  local system = uv.os_uname().sysname
  local windows = vim.fn.has("win32") == 1
  local runtime = vim.env.XDG_RUNTIME_DIR
  if not windows and runtime and runtime ~= "" and vim.fn.isdirectory(runtime) == 1 then
    return runtime .. "/hunchd/daemon.json"
  end
  if windows then
    return vim.fs.normalize(vim.env.LOCALAPPDATA or (uv.os_homedir() .. "/AppData/Local")) .. "/Temp/hunchd/daemon.json"
  end
  if system == "Darwin" then
    return uv.os_homedir() .. "/Library/Caches/TemporaryItems/hunchd/daemon.json"
  end
  local cache = vim.env.XDG_CACHE_HOME
  if not cache or cache == "" then
    cache = uv.os_homedir() .. "/.cache"
  end
  return cache .. "/hunchd/run/daemon.json"
end

-- Return {url, socket, token, pid, version, protocol}, or nil and the reason. The file is read for each request: it is
-- small, and a restarted daemon is found at once.
function M.read()
  local path = M.file()
  local found = uv.fs_lstat(path)
  if not found then
    return nil, "no daemon is running"
  end
  -- Windows reports no owner.
  if found.type ~= "file" or (uv.getuid and found.uid ~= uv.getuid()) then
    return nil, path .. " is not a file of yours"
  end
  local descriptor = uv.fs_open(path, "r", 0)
  if not descriptor then
    return nil, path .. " cannot be read"
  end
  local content = uv.fs_read(descriptor, LARGEST, 0)
  uv.fs_close(descriptor)
  local good, told = pcall(vim.json.decode, content or "", { luanil = { object = true, array = true } })
  if not good or type(told) ~= "table" or type(told.token) ~= "string" or type(told.url) ~= "string" then
    return nil, path .. " cannot be understood"
  end
  return told
end

return M
