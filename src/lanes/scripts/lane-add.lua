#!lua
-- Puts messages on their lane: their ids into its index, and a job for each that has none. BullMQ does the same with one
-- script per job; here a job waits, or is put off to a time, and has nothing but a payload. Refused when Redis is full,
-- since what cannot be kept is not accepted, and once the sender was removed, since nobody serves its lane. Adding a job
-- again changes nothing while it is there. What BullMQ would write into its stream of events is left out, because nobody
-- reads it.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one stands last
--   prioritized  ZSET    ids of jobs that are taken when nothing waits
--   meta         HASH    about the queue
--   marker       ZSET    there while something may be taken: it wakes those that wait for that
--   counter      STRING  of the scores of prioritized jobs
--   delayed      ZSET    ids of jobs that are put off, and when they are due
--   index        ZSET    segments of the lane's index
--   closed       STRING  there once the lane's sender was removed
-- Arguments:
--   jobs         what the keys of jobs begin with
--   name         of the jobs
--   ids          of the jobs
--   payloads     JSON
--   times        when they were accepted (ms)
--   delays       how long after that they are due (ms), 0 for those that wait
--   priorities   0 for those that wait, else when they are taken: the least first
--   packedIds?   for the index, one after the other; without it the messages are in the index
--   marks?       4 bytes each
--   oldestMs?    when the first of them was accepted
--   newestMs?    and the last
--   untilMs?     until then none of them can have a record
-- Output: 'OK'; 'closed' when the sender was removed, and nothing was added
-- include ../../messages/store/scripts/message-index
local waiting, prioritized, meta, marker, counter, delayed, index, closed = unpack(KEYS)
local jobs, name, ids, payloads, times, delays, priorities, packedIds, marks, oldestMs, newestMs,
  untilMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 12)
if redis.call('EXISTS', closed) == 1 then return 'closed' end

-- The index first: an id without a message is passed over, a message that no list shows is not found.
if packedIds then
  local time = redis.call('TIME')
  local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
  -- A broken index is a matter for people, and no message waits for that: its id finds it all the same.
  pcall(indexMessages, index, 'o', packedIds, marks, oldestMs, newestMs, untilMs, nowMs)
end
if #ids == 0 then return 'OK' end

-- As BullMQ scores them: by the ms, and up to 4,096 of one ms in the order of their coming.
local function delayedScore(dueMs)
  local least, most = dueMs * 4096, dueMs * 4096 + 4095
  local last = redis.call('ZREVRANGEBYSCORE', delayed, string.format('%.0f', most), string.format('%.0f', least),
    'WITHSCORES', 'LIMIT', 0, 1)[2]
  return last and math.min(tonumber(last) + 1, most) or least
end

local keys = {}
for i, id in ipairs(ids) do keys[i] = jobs .. id end
local areNew = redis.call('EXISTS', unpack(keys)) == 0
local added, waits, hasReady, hasDelayed = {}, {}, false, false
for i, id in ipairs(ids) do
  if not added[id] and (areNew or redis.call('EXISTS', keys[i]) == 0) then
    added[id] = true
    local at = string.format('%.0f', times[i])
    redis.call('HSET', keys[i], 'name', name, 'data', payloads[i], 'opts', '{}', 'timestamp', at, 'delay',
      string.format('%.0f', delays[i]), 'priority', priorities[i])
    hasReady = hasReady or delays[i] == 0
    if delays[i] > 0 then
      hasDelayed = true
      redis.call('ZADD', delayed, string.format('%.0f', delayedScore(times[i] + delays[i])), id)
    elseif priorities[i] == 0 then
      waits[#waits + 1] = id
    else
      -- As BullMQ scores them: by priority, then in the order of their coming.
      local score = priorities[i] * 0x100000000 + redis.call('INCR', counter) % 0x100000000
      redis.call('ZADD', prioritized, string.format('%.0f', score), id)
    end
  end
end
if #waits > 0 then redis.call('LPUSH', waiting, unpack(waits)) end
if hasReady and redis.call('HEXISTS', meta, 'paused') == 0 then redis.call('ZADD', marker, 0, '0') end
if hasDelayed then
  -- Whoever waits for jobs is woken when the first of them is due.
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', marker, string.format('%.17g', tonumber(first) / 4096), '1')
end
return 'OK'
