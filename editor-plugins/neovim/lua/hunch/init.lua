-- Public functions.
local M = {}

local function here()
  local files = require("hunch.files")
  local path = files.path(vim.api.nvim_get_current_buf())
  if path then
    return path
  end
  local shown = require("hunch.view").shown()
  return shown and shown.path
end

local function say(text)
  vim.notify("hunch: " .. text, vim.log.levels.WARN)
end

local function with_file(run)
  local path = here()
  if not path then
    return say("this window shows no file")
  end
  run(path)
end

-- Set options; see |hunch-options|. Optional.
function M.setup(options)
  require("hunch.config").set(options or {})
  -- A plugin manager may load the plugin after the first file was opened.
  if vim.v.vim_did_enter == 1 then
    require("hunch.files").entered(vim.api.nvim_get_current_buf())
  end
end

-- Show the context of the current file. `options.query`: the next task, in words.
function M.show(options)
  with_file(function(path)
    require("hunch.view").open(path, options and options.query)
  end)
end

local function related_line(file)
  return ("%3.0f %%  %s  (%s)"):format(file.confidence * 100, file.path, table.concat(file.reasons or {}, " · "))
end

-- Send a request of the user about a project; add the project if the daemon does not know it.
local function ask(place, request, done)
  local daemon, projects = require("hunch.daemon"), require("hunch.projects")
  local function send(introduced)
    daemon.ask_or_start(request, function(failure, answer)
      if failure and failure.status == 404 and not introduced then
        return projects.add(place, function(known, message)
          return known and send(true) or say(message)
        end)
      end
      if failure then
        return say(failure.message)
      end
      done(answer)
    end)
  end
  send(false)
end

-- Choose among the related files, by `vim.ui.select`.
function M.related()
  with_file(function(path)
    local place = require("hunch.projects").place(path)
    local body = { project = place.project, file_opened = place.path, k = 10 }
    ask(place, { method = "POST", path = "/context/predict", body = body }, function(answer)
      if #answer.predicted_files == 0 then
        local why = (answer.degraded or {})[1]
        return say(why or ("no related files are known for " .. place.path))
      end
      vim.ui.select(answer.predicted_files, {
        prompt = "After " .. place.path,
        kind = "hunch",
        format_item = related_line,
      }, function(file)
        if file then
          require("hunch.keys").go(place, { path = file.path }, "edit")
        end
      end)
    end)
  end)
end

-- Search the code of the project for a question in words; list what answers it in the quickfix window.
function M.search(query)
  local place = require("hunch.projects").place(here() or vim.fs.joinpath(vim.fn.getcwd(), "."))
  local body = { project = place.project, query = query, kinds = { "code" }, k = 20 }
  ask(place, { method = "POST", path = "/search", body = body }, function(answer)
    if #answer.results == 0 then
      return say((answer.degraded or {})[1] or ("no code was found for " .. query))
    end
    local items = vim.tbl_map(function(result)
      return {
        filename = vim.fs.joinpath(place.project, result.source.path),
        lnum = result.source.start_line,
        text = result.title,
      }
    end, answer.results)
    vim.fn.setqflist({}, " ", { title = "hunch: " .. query, items = items })
    vim.cmd("botright copen")
  end)
end

-- Show the reasons of each item; in the window of `:Hunch` those of the entry under the cursor.
function M.why()
  if vim.bo.filetype == "hunch" then
    return require("hunch.keys").why()
  end
  with_file(function(path)
    require("hunch.context").fetch(path, { wanted = true }, function(failure, bundle)
      if failure then
        return say(failure.message)
      end
      require("hunch.why").show(path, bundle)
    end)
  end)
end

-- Copy the context of the current file as Markdown, for a chat or a prompt.
function M.copy()
  with_file(function(path)
    require("hunch.context").fetch(path, { wanted = true }, function(failure, bundle)
      if failure then
        return say(failure.message)
      end
      require("hunch.keys").copy_bundle(bundle)
    end)
  end)
end

-- Fetch the context of `options.file` (default: the current one) for other plugins; calls `done(failure, bundle)`.
function M.context(options, done)
  local path = options.file and vim.fs.normalize(vim.fn.fnamemodify(options.file, ":p")) or here()
  if not path then
    return done({ kind = "no-file", message = "there is no file" })
  end
  require("hunch.context").fetch(path, { wanted = true, query = options.query }, done)
end

-- Return a text for the statusline: "hunch 12" items are ready, "hunch …" the project is being indexed, "hunch ?" no
-- daemon answers, "" nothing to show. Sends no request.
function M.statusline()
  local loaded = package.loaded
  if not loaded["hunch.context"] then
    return ""
  end
  if loaded["hunch.daemon"].trouble then
    return "hunch ?"
  end
  local path = loaded["hunch.files"].path(vim.api.nvim_get_current_buf())
  local bundle = path and loaded["hunch.context"].known(path)
  if not bundle or bundle.status == "empty" then
    return ""
  end
  return bundle.status == "degraded" and "hunch …" or ("hunch " .. #bundle.items)
end

return M
