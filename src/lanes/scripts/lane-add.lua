#!lua
-- Puts messages on their lane: their ids into its index, and a job for each that has none. What BullMQ does with one script
-- for each, for jobs that wait and have nothing but a payload. Refused when Redis is full: what cannot be kept is not
-- accepted. Adding a job again changes nothing while it is there. Nobody reads what BullMQ would write into its stream of
-- events.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one stands last
--   prioritized  ZSET    ids of jobs that are taken when nothing waits
--   meta         HASH    about the queue
--   marker       ZSET    there while something may be taken: it wakes those that wait for that
--   counter      STRING  of the scores of prioritized jobs
--   index        ZSET    segments of the lane's index
-- Arguments:
--   jobs         what the keys of jobs begin with
--   name         of the jobs
--   ids          of the jobs
--   payloads     JSON
--   times        when they were accepted (ms)
--   priorities   0 for those that wait, else when they are taken: the least first
--   packedIds?   for the index, one after the other; without it the messages are in the index
--   marks?       4 bytes each
--   oldestMs?    when the first of them was accepted
--   newestMs?    and the last
--   untilMs?     until then none of them can have a record
-- include ../../messages/store/scripts/message-index
local waiting, prioritized, meta, marker, counter, index = unpack(KEYS)
local jobs, name, ids, payloads, times, priorities, packedIds, marks, oldestMs, newestMs,
  untilMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 11)

-- The index first: an id without a message is passed over, a message that no list shows is not found.
if packedIds then
  local time = redis.call('TIME')
  local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
  -- An index that is none is a matter for people: no message waits for that. Its id finds it all the same.
  pcall(indexMessages, index, 'o', packedIds, marks, oldestMs, newestMs, untilMs, nowMs)
end
if #ids == 0 then return 'OK' end

local keys = {}
for i, id in ipairs(ids) do keys[i] = jobs .. id end
local areNew = redis.call('EXISTS', unpack(keys)) == 0
local added, waits = {}, {}
for i, id in ipairs(ids) do
  if not added[id] and (areNew or redis.call('EXISTS', keys[i]) == 0) then
    added[id] = true
    local at = string.format('%.0f', times[i])
    redis.call('HSET', keys[i], 'name', name, 'data', payloads[i], 'opts', '{}', 'timestamp', at, 'delay', '0',
      'priority', priorities[i])
    if priorities[i] == 0 then
      waits[#waits + 1] = id
    else
      -- As BullMQ scores them: by priority, then in the order of their coming.
      local score = priorities[i] * 0x100000000 + redis.call('INCR', counter) % 0x100000000
      redis.call('ZADD', prioritized, string.format('%.0f', score), id)
    end
  end
end
if #waits > 0 then redis.call('LPUSH', waiting, unpack(waits)) end
if next(added) and redis.call('HEXISTS', meta, 'paused') == 0 then redis.call('ZADD', marker, 0, '0') end
return 'OK'
