#!lua flags=allow-oom
-- Reads the next jobs of a lane that is not paused, transactional ones first, and leaves them where they are: a claim
-- takes them. Before that, delayed jobs that are due are put in line, behind what waits there.
--
-- A job may be what kills the worker that reads it. So each worker writes down what it reads until it has claimed it
-- (message-claim.lua). A worker that has not claimed for STALE_MS has died over what it read, or is frozen: each of
-- those jobs is read alone from then on until it is claimed, and each death of a worker that had read one alone is
-- counted.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one is the last: BullMQ's
--   prioritized  ZSET    ids of jobs that are taken when nothing waits: BullMQ's
--   delayed      ZSET    ids of jobs and when they are due: BullMQ's
--   meta         HASH    about the queue: BullMQ's
--   counter      STRING  of the scores of prioritized jobs: BullMQ's
--   readers      HASH    worker -> what it reads: `ms`, then ids
--   deaths       HASH    id of a job that is to be read alone -> workers that died over it
-- Arguments:
--   jobs         what the keys of jobs begin with
--   most         jobs to read
--   firstOnly    whether prioritized jobs are left out
--   by           the worker that reads
-- Output: {state, ms until the next delayed job is due (-1: none), id, payload, deaths, ...}. The state is `paused`, `open`, or
-- `more` when fewer were read than there are, since one is to be read alone.
-- include ../bullmq/scripts/job-scores
local waiting, prioritized, delayed, meta, counter, readers, deaths = unpack(KEYS)
local jobs, most, firstOnly, by = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local MOST_DUE, MOST_DEATHS, STALE_MS, KEPT_MS = 200, 10000, 2000, 604800000
local nowMs = redisNowMs()

local function untilDue()
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  return first and math.max(0, math.ceil(first / 4096 - nowMs)) or -1
end
if redis.call('HEXISTS', meta, META.paused) == 1 then return { 'paused', untilDue() } end

-- BullMQ scores them by the ms, and up to 4,096 of one ms in the order of their coming.
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', string.format('%.0f', nowMs * 4096 + 4095), 'LIMIT', 0, MOST_DUE)
if #due > 0 then
  redis.call('ZREM', delayed, unpack(due))
  local ready = {}
  for _, id in ipairs(due) do
    local priority = redis.call('HGET', jobs .. id, JOB.priority)
    if priority then
      redis.call('HSET', jobs .. id, JOB.delay, 0)
      if tonumber(priority) == 0 then
        ready[#ready + 1] = id
      else
        redis.call('ZADD', prioritized, prioritizedScore(priority, counter), id)
      end
    end
  end
  if #ready > 0 then redis.call('LPUSH', waiting, unpack(ready)) end
end
local reply = { 'open', untilDue() }

-- Jobs that other workers are reading now are left to them.
local found, readByOthers, countOfOthers = redis.call('HGETALL', readers), {}, 0
for i = 1, #found, 2 do
  local ms, ids = string.match(found[i + 1], '^(%d+) (.*)$')
  if found[i] ~= by and nowMs - ms > STALE_MS then
    redis.call('HDEL', readers, found[i])
    local count, last = 0, nil
    -- Jobs that were cancelled stay in it, so that it begins anew now and then.
    if redis.call('HLEN', deaths) > MOST_DEATHS then redis.call('DEL', deaths) end
    for id in string.gmatch(ids, '%S+') do
      redis.call('HSETNX', deaths, id, 0)
      count, last = count + 1, id
    end
    if count == 1 then redis.call('HINCRBY', deaths, last, 1) end
    redis.call('PEXPIRE', deaths, KEPT_MS)
  elseif found[i] ~= by then
    for id in string.gmatch(ids, '%S+') do
      readByOthers[id], countOfOthers = true, countOfOthers + 1
    end
  end
end

local hasDeaths = redis.call('EXISTS', deaths) == 1
local taken, isOver = {}, false
local function read(id)
  if isOver or #taken == most or readByOthers[id] then return end
  local died = hasDeaths and redis.call('HGET', deaths, id)
  if died and #taken > 0 then
    isOver = true
    return
  end
  local data = redis.call('HGET', jobs .. id, JOB.data)
  if not data then
    -- It was removed, and only its id is left.
    if redis.call('LREM', waiting, -1, id) == 0 then redis.call('ZREM', prioritized, id) end
    return
  end
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = id, data, tonumber(died or 0)
  taken[#taken + 1] = id
  if died then isOver = true end
end

local ids = redis.call('LRANGE', waiting, -most - countOfOthers, -1)
for i = #ids, 1, -1 do read(ids[i]) end
if not firstOnly and #taken < most and not isOver then
  local more = redis.call('ZRANGE', prioritized, 0, most + countOfOthers - 1)
  for i = 1, #more do read(more[i]) end
  if #more == 0 and redis.call('ZCARD', prioritized) == 0 then redis.call('DEL', counter) end
end
if #taken > 0 then
  redis.call('HSET', readers, by, string.format('%.0f ', nowMs) .. table.concat(taken, ' '))
  redis.call('PEXPIRE', readers, KEPT_MS)
end
-- Where one is read alone there may be more behind it.
if isOver then reply[1] = 'more' end
return reply
