#!lua
-- Puts messages on their lane: their ids into its index, and a job for each that has none. BullMQ does the same with one
-- script per job; here a job waits, or is put off to a time, and has nothing but a payload. Refused when Redis is full,
-- since what cannot be kept is not accepted, and once the sender was removed, since nobody serves its lane. Adding a job
-- again changes nothing while it is there. BullMQ's stream of events and its marker, which wakes Workers, are left out:
-- nobody reads the one, and no Worker takes jobs of a lane.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one is the last
--   prioritized  ZSET    ids of jobs that are taken when nothing waits
--   counter      STRING  of the scores of prioritized jobs
--   delayed      ZSET    ids of jobs that are put off, and when they are due
--   index        ZSET    segments of the lane's index
--   closed       STRING  there once the lane's sender was removed
--   places       ZSET    places of campaigns that wait on the lane
-- Arguments:
--   jobs         what the keys of jobs begin with
--   name         of the jobs
--   ids          of the jobs
--   payloads     JSON
--   times        when they were accepted (ms)
--   waits        their delays from now on (ms); 0: none
--   notBefore    when they are due at the earliest (ms); 0: at once
--   priorities   0 for those that wait, else when they are taken: the least first
--   packedIds?   for the index, one after the other; without it the messages are in the index
--   hashes?      4 bytes each
--   oldestMs?    when the first of them was accepted
--   newestMs?    and the last
--   untilMs?     until then none of them can have a record
--   names?       of places that these jobs take the place of
-- Output: 'OK'; 'closed' when the sender was removed, and nothing was added
-- include ../archive/scripts/message-index
-- include ../bullmq/scripts/job-scores
local waiting, prioritized, counter, delayed, index, closed, places = unpack(KEYS)
local jobs, name, ids, payloads, times, waits, notBefore, priorities, packedIds, hashes, oldestMs, newestMs,
  untilMs, names = unpack(cmsgpack.unpack(ARGV[1]), 1, 14)
if redis.call('EXISTS', closed) == 1 then return 'closed' end

-- The index first: an id without a message is passed over, a message that no list shows is not found.
local nowMs = redisNowMs()
if packedIds then
  -- A broken index is for people to mend, and no message may wait for that: it is still found by its id.
  pcall(indexMessages, index, SERIES.sent, packedIds, hashes, oldestMs, newestMs, untilMs, nowMs)
end
if #ids == 0 then return 'OK' end

local keys = {}
for i, id in ipairs(ids) do keys[i] = jobs .. id end
local areNew = redis.call('EXISTS', unpack(keys)) == 0
-- A job that is in no line would never be sent, and adding it again would change nothing: if Redis refuses to put it in line,
-- as when somebody has revoked a permission, it is removed again and the caller gets the error.
local function undone(result, written)
  if type(result) ~= 'table' or not result.err then return nil end
  redis.call('UNLINK', unpack(written))
  return result
end

local added, ready, readyJobs = {}, {}, {}
for i, id in ipairs(ids) do
  if not added[id] and (areNew or redis.call('EXISTS', keys[i]) == 0) then
    added[id] = true
    local dueMs = math.max(notBefore[i], waits[i] > 0 and nowMs + waits[i] or 0)
    local isDelayed = dueMs > nowMs
    -- BullMQ counts the delay from acceptance.
    redis.call('HSET', keys[i], JOB.name, name, JOB.data, payloads[i], JOB.opts, '{}', JOB.addedAt,
      string.format('%d', times[i]), JOB.delay, isDelayed and string.format('%d', math.max(1, dueMs - times[i])) or '0',
      JOB.priority, string.format('%d', priorities[i]))
    if not isDelayed and priorities[i] == 0 then
      ready[#ready + 1], readyJobs[#readyJobs + 1] = id, keys[i]
    else
      local line, score = delayed, isDelayed and delayedScore(delayed, dueMs)
      if not isDelayed then line, score = prioritized, prioritizedScore(priorities[i], counter) end
      local failure = undone(redis.pcall('ZADD', line, score, id), { keys[i] })
      if failure then
        if #readyJobs > 0 then redis.call('UNLINK', unpack(readyJobs)) end
        return failure
      end
    end
  end
end
if #ready > 0 then
  local failure = undone(redis.pcall('LPUSH', waiting, unpack(ready)), readyJobs)
  if failure then return failure end
end
if names then redis.call('ZREM', places, unpack(names)) end
return 'OK'
