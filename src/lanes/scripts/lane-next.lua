#!lua flags=allow-oom
-- Reads what is next on a lane that is not paused, and leaves it where it is: a claim takes it. Transactional jobs come
-- first; of what they leave, jobs of campaigns and places of campaigns' lists have half each, or all that the other does
-- not need. Before that, delayed jobs that are due are put in line, behind what waits there.
--
-- A message may be what kills the worker that reads it. So each worker writes down what it reads, jobs and places, until
-- it has claimed it (message-claim.lua). A worker that has not claimed for STALE_MS has died over what it read, or is
-- frozen: each of those is read alone from then on until it is claimed, and each death of a worker that had read one
-- alone is counted.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one is the last: BullMQ's
--   prioritized  ZSET    ids of jobs that are taken when nothing waits: BullMQ's
--   delayed      ZSET    ids of jobs and when they are due: BullMQ's
--   meta         HASH    about the queue: BullMQ's
--   counter      STRING  of the scores of prioritized jobs: BullMQ's
--   places       ZSET    places that wait, by their turns
--   readers      HASH    worker -> what it reads: `ms`, then ids of jobs and names of places
--   deaths       HASH    what is to be read alone -> workers that died over it
-- Arguments:
--   jobs         what the keys of jobs begin with
--   campaigns    what the keys of the lane's campaigns begin with
--   most         to read
--   firstOnly    whether only transactional jobs are read
--   by           the worker that reads
--   held?        campaigns whose places are left out, by their numbers
-- Output: {state, ms until the next delayed job is due (-1: none), {id, payload, deaths, ...} of jobs, and of places, if
-- there are any, {name, ...}, workers that died over the first of them, {campaign, its epoch, ...}}. The state is `paused`,
-- `open`, or `more` when fewer were read than there are, since one is to be read alone.
-- include ../bullmq/scripts/job-scores
local waiting, prioritized, delayed, meta, counter, places, readers, deaths = unpack(KEYS)
local jobs, campaigns, most, firstOnly, by, held = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
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
local dueInMs = untilDue()

-- What other workers are reading now is left to them.
local reading, readByOthers, countOfOthers = redis.call('HGETALL', readers), {}, 0
for i = 1, #reading, 2 do
  local ms, ids = string.match(reading[i + 1], '^(%d+) (.*)$')
  if reading[i] ~= by and nowMs - ms > STALE_MS then
    redis.call('HDEL', readers, reading[i])
    local count, last = 0, nil
    -- Entries of cancelled messages are never removed, so clear it when it is full.
    if redis.call('HLEN', deaths) > MOST_DEATHS then redis.call('DEL', deaths) end
    for id in string.gmatch(ids, '%S+') do
      redis.call('HSETNX', deaths, id, 0)
      count, last = count + 1, id
    end
    if count == 1 then redis.call('HINCRBY', deaths, last, 1) end
    redis.call('PEXPIRE', deaths, KEPT_MS)
  elseif reading[i] ~= by then
    for id in string.gmatch(ids, '%S+') do
      readByOthers[id], countOfOthers = true, countOfOthers + 1
    end
  end
end

local hasDeaths = redis.call('EXISTS', deaths) == 1
local taken, isOver = {}, false
-- How many workers died over it, false for none; nil when it is not to be read now.
local function deathsOf(id)
  if isOver or readByOthers[id] then return nil end
  local died = hasDeaths and redis.call('HGET', deaths, id)
  if died and #taken > 0 then
    isOver = true
    return nil
  end
  return died
end
local function note(id, died)
  taken[#taken + 1] = id
  if died then isOver = true end
end

local found = {}
local function readJob(id)
  local died = deathsOf(id)
  if died == nil then return end
  local data = redis.call('HGET', jobs .. id, JOB.data)
  if not data then
    -- It was removed, and only its id is left.
    if redis.call('LREM', waiting, -1, id) == 0 then redis.call('ZREM', prioritized, id) end
    return
  end
  local n = #found
  found[n + 1], found[n + 2], found[n + 3] = id, data, tonumber(died or 0)
  note(id, died)
end

local placed, deathsOfFirst, epochs, epochOf, isHeld = {}, 0, {}, {}, {}
for _, run in ipairs(held or {}) do isHeld[tostring(run)] = true end
local function readPlace(name)
  local run = string.match(name, '^%d+')
  if isHeld[run] then return end
  local died = deathsOf(name)
  if died == nil then return end
  if not epochOf[run] then
    epochOf[run] = redis.call('HGET', campaigns .. run, 'epoch') or ''
    epochs[#epochs + 1], epochs[#epochs + 2] = run, epochOf[run]
  end
  placed[#placed + 1] = name
  if died then deathsOfFirst = tonumber(died) end
  note(name, died)
end

-- Reads places until so many were read in all. Those of campaigns that are held may lie before the others: so it looks
-- further each time.
local function readPlaces(upTo)
  local from, size = 0, upTo - #taken + countOfOthers
  while not isOver and #taken < upTo do
    local page = redis.call('ZRANGE', places, from, from + size - 1)
    for i = 1, #page do
      if #taken == upTo then break end
      readPlace(page[i])
    end
    if #page < size then return end
    from, size = from + size, 2 * size
  end
end

local ids = redis.call('LRANGE', waiting, -most - countOfOthers, -1)
for i = #ids, 1, -1 do
  if #taken == most then break end
  readJob(ids[i])
end
local left = most - #taken
if not firstOnly and left > 0 and not isOver then
  local more = redis.call('ZRANGE', prioritized, 0, left + countOfOthers - 1)
  if #more == 0 then redis.call('DEL', counter) end
  local next = 1
  local function readJobs(upTo)
    while next <= #more and #taken < upTo do
      readJob(more[next])
      next = next + 1
    end
  end
  readJobs(most - math.floor(left / 2))
  readPlaces(most)
  readJobs(most)
end
if #taken > 0 then
  redis.call('HSET', readers, by, string.format('%.0f ', nowMs) .. table.concat(taken, ' '))
  redis.call('PEXPIRE', readers, KEPT_MS)
end
-- Where one is read alone there may be more behind it.
local reply = { isOver and 'more' or 'open', dueInMs, found }
if #placed > 0 then reply[4], reply[5], reply[6] = placed, deathsOfFirst, epochs end
return reply
