-- Asynchronous HTTP request over a libuv socket.
local M = {}

local uv = vim.uv

local function head(request, daemon)
  local lines = {
    ("%s %s HTTP/1.1"):format(request.method, request.target),
    "Host: " .. (daemon.url:match("^http://(.+)$") or "127.0.0.1"),
    "Authorization: Bearer " .. daemon.token,
    "Connection: close",
  }
  for name, value in pairs(request.headers or {}) do
    lines[#lines + 1] = name .. ": " .. value
  end
  if request.body then
    lines[#lines + 1] = "Content-Type: application/json"
    lines[#lines + 1] = "Content-Length: " .. #request.body
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- Parse the response in `text`; return nil while it is incomplete.
local function parsed(text, ended)
  local from, to = text:find("\r\n\r\n", 1, true)
  if not from then
    return nil
  end
  local status = tonumber(text:match("^HTTP/1%.%d (%d%d%d)"))
  local length = tonumber(text:sub(1, from):lower():match("\r\ncontent%-length: *(%d+)"))
  local body = text:sub(to + 1)
  if status == 204 or status == 304 then
    return { status = status, body = "" }
  end
  if status and ((length and #body >= length) or (not length and ended)) then
    return { status = status, body = length and body:sub(1, length) or body }
  end
end

local function connect(stream, daemon, connected)
  if daemon.socket then
    return stream:connect(daemon.socket, connected)
  end
  return stream:connect("127.0.0.1", tonumber(daemon.url:match(":(%d+)/*$")) or 0, connected)
end

-- `request`: {method, target, headers?, body?, timeout (ms)}. `done(failure, response)` is called once, on the main
-- loop; a failure is {kind = "absent"|"slow"|"broken", message}.
function M.request(daemon, request, done)
  local stream = daemon.socket and uv.new_pipe(false) or uv.new_tcp()
  local timer = uv.new_timer()
  local received, finished = {}, false

  local function finish(failure, response)
    if finished then
      return
    end
    finished = true
    timer:stop()
    timer:close()
    if not stream:is_closing() then
      stream:close()
    end
    vim.schedule(function()
      done(failure, response)
    end)
  end

  local function broken(message)
    finish({ kind = "broken", message = message })
  end

  local function read(failure, chunk)
    if failure then
      return broken("the connection broke: " .. failure)
    end
    received[#received + 1] = chunk
    local response = parsed(table.concat(received), chunk == nil)
    if response then
      finish(nil, response)
    elseif chunk == nil then
      broken("the daemon closed the connection before its answer was complete")
    end
  end

  timer:start(request.timeout, 0, function()
    finish({ kind = "slow", message = ("the daemon did not answer within %g s"):format(request.timeout / 1000) })
  end)
  local called, reason = connect(stream, daemon, function(failure)
    if finished then
      return
    end
    if failure then
      return finish({ kind = "absent", message = "no daemon is running" })
    end
    stream:write(head(request, daemon) .. (request.body or ""), function(trouble)
      if trouble then
        broken("the connection broke: " .. trouble)
      end
    end)
    stream:read_start(read)
  end)
  if not called then
    finish({ kind = "absent", message = "no daemon is running (" .. tostring(reason) .. ")" })
  end
end

return M
