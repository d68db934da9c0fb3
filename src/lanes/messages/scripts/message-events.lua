-- Events of messages: the step that changes a message appends the event to the lane's outbox, so that no kill loses an
-- event or makes one of a change that was not written. Included after message-lifecycle.lua by every script that changes a
-- message; the outbox is the first key of each. A lane without an outbox has no listeners, and costs one EXISTS per step.
--
-- An entry of the outbox has one field, `e`: an event a line, each
-- `<ulid><state letter><! when it was repeated in doubt><seq>,<ms since acceptance, base 36>,<problem>`.
-- In place of a problem `+` says that the message was read before anything said that it was delivered.
-- src/model/events/outbox-entry.ts reads it.
local noted, isHeard = {}, nil

local function hasListeners()
  if isHeard == nil then isHeard = redis.call('EXISTS', KEYS[1]) == 1 end
  return isHeard
end

-- Notes what a message has become: p after the step, its history with the step in it. Called after the record is written.
-- A message that waits again or is being sent is no event: what comes of it will be one.
local function noteEvent(p, ulid, history, problem)
  if p.state == QUEUED or p.state == SENDING or not hasListeners() then return end
  local why = ''
  if p.state == FAILED or p.state == UNCONFIRMED or p.state == UNKNOWN then why = problem or p.has.problem or '' end
  if p.state == READ and not string.find('|' .. history, '|' .. DELIVERED, 1, true) then why = '+' end
  noted[#noted + 1] = ulid .. p.state .. (p.repeats > 0 and '!' or '') .. stepsOf(history) + 1
    .. ',' .. (string.match(history, '([^|]+)$')):match('^%a(%-?%w+)') .. ',' .. string.gsub(why, '%c', ' ')
end

-- Writes what was noted. An outbox that is none is a matter for people: no message waits for that.
local function writeEvents()
  if #noted == 0 then return end
  redis.pcall('XADD', KEYS[1], '*', ENTRY.events, table.concat(noted, '\n'))
  noted = {}
end
