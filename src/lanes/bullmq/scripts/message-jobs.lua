-- The position of a message's job on its lane. A job waits in line (a LIST, or behind it a ZSET) or is delayed until
-- its message is claimed; while the message is being sent it is active; then it waits again or is gone. Included by
-- message-claim.lua, message-step.lua and lane-mend.lua, which name the keys `waiting`, `prioritized`, `delayed` and
-- `active`.
-- include job-scores
-- include message-lines

-- Jobs whose messages' sending has ended.
local ended, endedIds = {}, {}

local function delay(job, id, dueMs, ms)
  redis.call('ZADD', delayed, delayedScore(delayed, dueMs), id)
  redis.call('HSET', job, JOB.delay, string.format('%.0f', ms))
end

local function delayJob(job, id, place, now, ms)
  leaveLine(id, place)
  delay(job, id, now + math.max(1, math.ceil(ms)), math.max(1, math.ceil(ms)))
end

local function dropJob(job, id, place)
  leaveLine(id, place)
  unwanted[#unwanted + 1] = job
end

-- Ends the sending of a message. `waitMs`: its job goes back to the front of the line, or is delayed for so long; nil: its
-- job is dropped (writeEnded).
local function endSending(job, id, now, waitMs)
  if not waitMs then
    ended[#ended + 1], endedIds[#endedIds + 1] = job, id
    return
  end
  if redis.call('LREM', active, -1, id) == 0 then return end
  local priority = tonumber(redis.call('HGET', job, JOB.priority) or '0')
  if waitMs > 0 then
    delay(job, id, now + math.ceil(waitMs), math.ceil(waitMs))
  elseif priority == 0 then
    redis.call('RPUSH', waiting, id)
  else
    redis.call('ZADD', prioritized, prioritizedScore(priority), id)
  end
end

-- Deletes the jobs of messages whose sending has ended. A message that waited as a place has none.
local function writeEnded()
  if #ended == 0 or redis.call('DEL', unpack(ended)) == 0 then return end
  for _, id in ipairs(endedIds) do redis.call('LREM', active, -1, id) end
end
