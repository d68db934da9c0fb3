#!lua flags=allow-oom
-- Reads the next jobs of a lane and leaves them where they are: a claim takes them. Delayed jobs that are due are put in
-- line first, behind what waits there. Run again it reads the same jobs.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one stands last: BullMQ's
--   prioritized  ZSET    ids of jobs that are taken when nothing waits: BullMQ's
--   delayed      ZSET    ids of jobs and when they are due: BullMQ's
--   meta         HASH    about the queue: BullMQ's
--   counter      STRING  of the scores of prioritized jobs: BullMQ's
-- Arguments:
--   jobs         what the keys of jobs begin with
--   most         jobs to read
--   skip         jobs to pass over, which other workers read; none where there are fewer
--   firstOnly    whether prioritized jobs are left out
-- Output: {'paused' or 'open', ms until the next delayed job is due (-1: none), id, payload, id, payload, ...}
local waiting, prioritized, delayed, meta, counter = unpack(KEYS)
local jobs, most, skip, firstOnly = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local MOST_DUE = 200
local t = redis.call('TIME')
local nowMs = t[1] * 1000 + math.floor(t[2] / 1000)

-- BullMQ scores them by the ms, and up to 4,096 of one ms in the order of their coming.
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', string.format('%.0f', nowMs * 4096 + 4095), 'LIMIT', 0, MOST_DUE)
if #due > 0 then
  redis.call('ZREM', delayed, unpack(due))
  local ready = {}
  for _, id in ipairs(due) do
    local priority = redis.call('HGET', jobs .. id, 'priority')
    if priority then
      redis.call('HSET', jobs .. id, 'delay', 0)
      if tonumber(priority) == 0 then
        ready[#ready + 1] = id
      else
        local score = priority * 0x100000000 + redis.call('INCR', counter) % 0x100000000
        redis.call('ZADD', prioritized, string.format('%.0f', score), id)
      end
    end
  end
  if #ready > 0 then redis.call('LPUSH', waiting, unpack(ready)) end
end

local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
local reply = { 'open', first and math.max(0, math.ceil(first / 4096 - nowMs)) or -1 }
if redis.call('HEXISTS', meta, 'paused') == 1 then
  reply[1] = 'paused'
  return reply
end
if skip > 0 and redis.call('LLEN', waiting) + redis.call('ZCARD', prioritized) <= skip then skip = 0 end

local function read(id)
  local data = redis.call('HGET', jobs .. id, 'data')
  if data then
    reply[#reply + 1], reply[#reply + 2] = id, data
    return
  end
  -- It was removed, and only its id is left.
  if redis.call('LREM', waiting, -1, id) == 0 then redis.call('ZREM', prioritized, id) end
end

local ids = redis.call('LRANGE', waiting, -skip - most, -skip - 1)
for i = #ids, 1, -1 do read(ids[i]) end
if not firstOnly and #ids < most then
  local passed = math.max(0, skip - redis.call('LLEN', waiting))
  local more = redis.call('ZRANGE', prioritized, passed, passed + most - #ids - 1)
  for i = 1, #more do read(more[i]) end
  if #more == 0 and redis.call('ZCARD', prioritized) == 0 then redis.call('DEL', counter) end
end
return reply
