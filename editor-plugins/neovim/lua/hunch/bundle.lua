-- Parser of a bundle into sections and entries. Pure: no windows, no daemon.
--
-- The n-th line of the Markdown that begins with "- " is the n-th item; the indented lines below belong to it.
local M = {}

local TITLES = { "Now", "Likely next", "Background", "Ask for more" }

-- The quotation marks protect language models from instructions in titles; they are removed for display.
local function unquoted(text)
  return (text:gsub("^«(.*)»$", "%1"))
end

local function title_of(item, line)
  if item.title and item.title ~= "" then
    return unquoted(item.title)
  end
  return item.kind == "file" and (item.source or {}).path or unquoted(line)
end

local function entry_of(item, line)
  return {
    item = item,
    kind = item.kind,
    title = title_of(item, line),
    reasons = item.reasons or {},
    -- The score of a file is the calibrated probability that it is needed.
    chance = item.kind == "file" and item.score or nil,
    body = {},
  }
end

-- {place, tokens, budget, notes, sections = {{title, tier, entries}}, topics}
function M.outline(bundle)
  local lines = vim.split(bundle.context, "\n", { plain = true })
  local outline = {
    place = (lines[1] or ""):match("^# (.-) · [%d,]+ ") or "",
    tokens = bundle.token_count,
    budget = bundle.budget,
    notes = bundle.degraded or {},
    sections = {},
    topics = {},
  }
  local number, entry = 0, nil
  local by_tier = {}
  for _, line in ipairs(lines) do
    if line:sub(1, 2) == "- " then
      number = number + 1
      local item = bundle.items[number]
      entry = item and entry_of(item, line:sub(3))
      if entry then
        local section = by_tier[item.tier]
        if not section then
          section = { title = TITLES[item.tier], tier = item.tier, entries = {} }
          by_tier[item.tier] = section
          outline.sections[#outline.sections + 1] = section
        end
        section.entries[#section.entries + 1] = entry
      end
    elseif entry and line:sub(1, 4) == "    " then
      entry.body[#entry.body + 1] = line:sub(5)
    elseif line:find(" · `hunch expand TOPIC`", 1, true) then
      outline.topics = vim.split(line:gsub(" · `hunch expand TOPIC`", ""), ", ", { plain = true })
    end
  end
  return outline
end

-- Return the target of an entry: {path, line?} relative to the project, {commit}, or nil.
function M.target(entry)
  local source = entry.item.source or {}
  if source.path then
    return { path = source.path, line = source.line }
  end
  if source.sha then
    return { commit = source.sha }
  end
end

-- Return the name that a signature line defines, to be found in the file.
function M.defined(line)
  return line:match("def ([%w_]+)")
    or line:match("class ([%w_]+)")
    or line:match("func %b() ?([%w_]+)")
    or line:match("func ([%w_]+)")
    or line:match("fn ([%w_]+)")
    or line:match("function ([%w_]+)")
    or line:match("^%s*sections?: ([^·]-)%s*[·…]")
    or line:match("([%w_]+)%s*[%(<]")
end

return M
