-- Renders an outline as lines, highlights and folds. Pure: it returns the content of a window.
local M = {}

local WRAP = "      " -- indentation of reasons and signatures below their title

local SIGNS = {
  error = { "✗", "HunchError" },
  contradiction = { "≠", "HunchError" },
  decision = { "◆", "HunchDecision" },
  fact = { "◆", "HunchDecision" },
  episode = { "○", "HunchPast" },
  file = { "›", "HunchFile" },
}
local OTHER = { "·", "HunchReason" }

M.groups = {
  HunchPlace = "Title",
  HunchCount = "Comment",
  HunchSection = "Statement",
  HunchFile = "Directory",
  HunchDecision = "DiagnosticInfo",
  HunchError = "DiagnosticError",
  HunchPast = "Special",
  HunchTitle = "Normal",
  HunchReason = "Comment",
  HunchCode = "Identifier",
  HunchChance = "Number",
  HunchNote = "DiagnosticWarn",
  HunchTopic = "Underlined",
  HunchUp = "DiagnosticOk",
  HunchDown = "DiagnosticWarn",
}

local Page = {}
Page.__index = Page

-- Add a line of {text, group} pairs; `about` is the subject of the line.
function Page:add(pieces, about)
  local text, at = "", 0
  local row = #self.lines
  for _, piece in ipairs(pieces) do
    -- The buffer rejects newlines inside a line.
    local said = piece[1]:gsub("[\r\n]+", " ")
    if piece[2] then
      self.marks[#self.marks + 1] = { row = row, from = at, to = at + #said, group = piece[2] }
    end
    text, at = text .. said, at + #said
  end
  self.lines[#self.lines + 1] = text
  self.about[#self.lines] = about
  return row
end

function Page:at_right(row, text, group)
  self.right[#self.right + 1] = { row = row, text = text, group = group }
end

local function thousands(number)
  local text = tostring(number)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end
M.thousands = thousands

local VERDICTS = { cited = { "helpful", "HunchUp" }, wrong = { "not helpful", "HunchDown" } }

-- Shorten a long path at its beginning; the end is more informative.
local function fitting(path, width)
  if #path <= width then
    return path
  end
  local tail = path:sub(-width)
  local from = tail:find("/", 1, true)
  return from and "…" .. tail:sub(from) or path
end

local function add_entry(page, entry, verdicts, width)
  local sign = SIGNS[entry.kind] or OTHER
  local about = { entry = entry }
  local title = entry.kind == "file" and "HunchFile" or "HunchTitle"
  local reasons = table.concat(entry.reasons, " · ")
  local verdict = VERDICTS[verdicts[entry.item.id]]
  verdict = verdict and { verdict[1] .. (reasons ~= "" and " · " or ""), verdict[2] } or { "" }
  local quiet = not SIGNS[entry.kind] -- conventions and similar: one line each
  local row
  if quiet then
    row = page:add({ { "  " .. sign[1] .. " ", sign[2] }, { entry.title }, { "  " }, verdict, { reasons, "HunchReason" } }, about)
  else
    local shown = entry.kind == "file" and fitting(entry.title, width - 12) or entry.title
    row = page:add({ { "  " .. sign[1] .. " ", sign[2] }, { shown, title } }, about)
  end
  page.starts[#page.starts + 1] = row + 1
  if entry.chance then
    local percent = math.floor(entry.chance * 100 + 0.5)
    page:at_right(row, percent < 1 and "<1 %" or percent .. " %", "HunchChance")
  end
  if not quiet and verdict[1] .. reasons ~= "" then
    page:add({ { WRAP }, verdict, { reasons, "HunchReason" } }, about)
  end
  local first = #page.lines + 1
  for _, line in ipairs(entry.body) do
    page:add({ { WRAP .. line, "HunchCode" } }, { entry = entry, line = line })
  end
  if #page.lines >= first then
    page.folds[#page.folds + 1] = { first, #page.lines }
  end
end

local function add_topics(page, topics, width)
  local line, about = {}, {}
  local used = 0
  local function finish()
    if #line > 0 then
      page:add(line, { topics = about })
    end
    line, about, used = {}, {}, 0
  end
  for _, topic in ipairs(topics) do
    local size = vim.fn.strdisplaywidth(topic) + 2
    if used > 0 and used + size > width - 6 then
      finish()
    end
    if used == 0 then
      line[1] = { "    " }
    end
    line[#line + 1] = { topic, "HunchTopic" }
    line[#line + 1] = { "  " }
    about[#about + 1] = topic
    used = used + size
  end
  finish()
end

local function new_page()
  -- starts: rows (from 1) of entries; folds: {first, last}; about: row (from 1) → {entry?, line?, topics?}
  return setmetatable({ lines = {}, marks = {}, right = {}, about = {}, folds = {}, starts = {} }, Page)
end

-- Return the page of an outline. `verdicts`: id → "cited" or "wrong", feedback of this session.
function M.page(outline, verdicts, width)
  local page = new_page()
  local place, branch = outline.place:match("^(.-) · branch (.+)$")
  local head = page:add({ { " " .. (place or outline.place), "HunchPlace" } })
  if branch then
    page:at_right(head, branch, "HunchCount")
  end
  page:add({
    {
      (" %s of %s tokens"):format(thousands(outline.tokens), thousands(outline.budget)),
      "HunchCount",
    },
  })
  for _, note in ipairs(outline.notes) do
    page:add({ { " " .. note, "HunchNote" } })
  end
  for _, section in ipairs(outline.sections) do
    page:add({})
    page:add({ { " " .. section.title, "HunchSection" } })
    for _, entry in ipairs(section.entries) do
      add_entry(page, entry, verdicts, width)
    end
  end
  if #outline.topics > 0 then
    page:add({})
    page:add({ { " Ask for more", "HunchSection" } })
    add_topics(page, outline.topics, width)
  end
  return page
end

-- Return a page with a message instead: {text, group?} for each line.
function M.message(lines)
  local page = new_page()
  for _, line in ipairs(lines) do
    page:add({ { " " .. line[1], line[2] } })
  end
  return page
end

return M
