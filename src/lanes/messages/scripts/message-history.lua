-- The packed history of a message, see src/model/messages/history.ts, and numbers as text.

-- A whole number that is not negative, as text. Redis writes out each number that it gets from Lua with up to seventeen digits, as
-- `%.0f` does, which takes three times as long as `%d`; and within one step the same few numbers come again and again.
local wholeTexts = {}
local function whole(n)
  local text = wholeTexts[n] or string.format('%d', n + 0.5)
  wholeTexts[n] = text
  return text
end

local DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'
-- Kept, because messages of one campaign were accepted at the same time and what happens to them in one step is written alike.
local base36Of = {}
local function base36(n)
  if base36Of[n] then return base36Of[n] end
  local rest, text = math.abs(n), ''
  repeat
    local d = rest % 36
    text = string.sub(DIGITS, d + 1, d + 1) .. text
    rest = (rest - d) / 36
  until rest == 0
  base36Of[n] = n < 0 and '-' .. text or text
  return base36Of[n]
end

-- When the latest entry of a packed history happened, in ms since acceptance; -inf without one. Messages that were claimed in one step
-- have the same.
local msOf = {}
local function lastEventMs(history)
  local last = string.find(history, '|', 1, true) and string.match(history, '^.*|(.*)') or history
  local digits = string.match(last, '^%a(%-?%w+)')
  if not digits then return -math.huge end
  local ms = msOf[digits]
  if not ms then
    local isBefore = string.sub(digits, 1, 1) == '-'
    ms = tonumber(isBefore and string.sub(digits, 2) or digits, 36) or -math.huge
    ms = isBefore and -ms or ms
    msOf[digits] = ms
  end
  return ms
end

-- How many steps a packed history has, with those of its middle that were dropped: `~12` stands for twelve.
local DROPPED = '|' .. GAP.dropped .. '(%d+)'
local function stepsOf(history)
  if history == '' then return 0 end
  local _, more = string.gsub(history, '|', '|')
  local steps = more + 1
  for dropped in string.gmatch('|' .. history, DROPPED) do steps = steps + dropped - 1 end
  return steps
end

-- The packed history (see src/model/messages/history.ts) with one more event. Times never go back: WhatsApp reports whole
-- seconds by a clock of its own, and an effect cannot come before its cause. A message that is throttled for hours must not
-- grow for ever: past 1,500 characters the middle is dropped, and the number of its events takes its place.
local function appendHistory(history, letter, atMs, acceptedAt, detail)
  local ms = atMs - acceptedAt
  local event = letter .. base36(history == '' and ms or math.max(ms, lastEventMs(history)))
  if detail and detail ~= '' then event = event .. ',' .. detail end
  if history == '' then return event end
  if #history > 1500 then
    local tail = string.find(history, '|', #history - 700, true)
    local cut = string.find(history, '|', 400, true)
    local dropped = stepsOf(string.sub(history, cut + 1, tail - 1))
    history = string.sub(history, 1, cut) .. GAP.dropped .. dropped .. string.sub(history, tail)
  end
  return history .. '|' .. event
end
