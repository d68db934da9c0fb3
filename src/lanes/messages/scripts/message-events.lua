-- Events of messages: the step that changes a message appends the event to the lane's outbox, so that no kill loses an
-- event or makes one of a change that was not written. Included by every script that changes a message; the outbox is the
-- first key of each. A lane without an outbox has no listeners, and costs one EXISTS per step.
--
-- An entry of the outbox has one field, `e`: an event a line, each
-- `<ulid><state letter><MARK.repeated, if it was><seq>,<ms since acceptance, base 36>,<problem or MARK.firstProof>`.
-- src/model/events/outbox-entry.ts reads it.
local noted, isListening = {}, nil

local function hasListeners()
  if isListening == nil then isListening = redis.call('EXISTS', KEYS[1]) == 1 end
  return isListening
end

-- Adds the event of a step: p after the step, the history with it. Called after the record is written. A message that waits
-- again or is being sent makes no event; its outcome will.
local function noteEvent(p, ulid, history, problem)
  if p.state == QUEUED or p.state == SENDING or not hasListeners() then return end
  local why = ''
  if p.state == FAILED or p.state == UNCONFIRMED or p.state == UNKNOWN then why = problem or p.has.problem or '' end
  if p.state == READ and not string.find('|' .. history, '|' .. DELIVERED, 1, true) then why = MARK.firstProof end
  noted[#noted + 1] = ulid .. p.state .. (p.repeats > 0 and MARK.repeated or '') .. stepsOf(history) + 1
    .. ',' .. (string.match(history, '([^|]+)$')):match('^%a(%-?%w+)') .. ',' .. string.gsub(why, '%c', ' ')
end

-- Writes the events of this step. If the key holds no stream, people must mend it, and no message may wait for that.
local function writeEvents()
  if #noted == 0 then return end
  redis.pcall('XADD', KEYS[1], '*', ENTRY.events, table.concat(noted, '\n'))
  noted = {}
end
