#!lua flags=allow-oom
-- Finishes jobs of a lane and takes the next ones, many in one step. BullMQ does the same with one script per job; this is
-- for jobs that have nothing but a payload. Any other job is left where it is, and the answer says so: BullMQ's own script
-- then takes it. Allowed when Redis is full: what was sent must be finished. Run again, it says `l` of each job that it has
-- finished, and takes nothing for it. What BullMQ would write into its stream of events is left out: nobody reads it.
--
-- Keys:
--   waiting      LIST    ids of jobs that wait; the next one stands last
--   prioritized  ZSET    ids of jobs that are taken when nothing waits
--   delayed      ZSET    ids of jobs and when they are due
--   active       LIST    ids of jobs that a worker is processing
--   limiter      STRING  jobs that were taken in this window
--   meta         HASH    about the queue
--   stalled      SET     ids of jobs that the next check takes from a worker that has not renewed their lock
--   marker       ZSET    there while something may be taken: it wakes those that wait for that
--   counter      STRING  of the scores of prioritized jobs
-- Arguments:
--   jobs         what the keys of jobs begin with
--   finished     ids of the jobs
--   tokens       of their locks
--   takes        of each, whether the next job is taken under the same token
--   lockMs       how long they are locked
-- Output: {a letter for each that is finished, why no more is taken, ms, one for each that is taken}
--   letters:     `f` finished; `l` lost, its lock is not there or of another
--   why:         `none` waits, the next delayed one is due in `ms`, 0 without one; `limited` for `ms`; `other`: BullMQ is to
--                take what comes next; `enough` was taken
--   taken:       {id, name, payload, when it was added, workers that died over it}, in the order of those that are
--                finished and take
local waiting, prioritized, delayed, active, limiter, meta, stalled, marker, counter = unpack(KEYS)
local jobs, finished, tokens, takes, lockMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
local t = redis.call('TIME')
local nowMs = t[1] * 1000 + math.floor(t[2] / 1000)

-- Finishes them; returns the letters, and the tokens to lock the next jobs with. A job that is lost gets none: its worker
-- gives up on it, and would leave whatever was taken in its place locked. That could even be the lost job itself, which
-- waits again: BullMQ would make a dead letter of it under the lock.
local function finish()
  local locks, letters, gone, ended, takers = {}, {}, {}, {}, {}
  for i, id in ipairs(finished) do locks[i] = jobs .. id .. ':lock' end
  local held = redis.call('MGET', unpack(locks))
  for i, id in ipairs(finished) do
    -- The same job twice: the first has finished it.
    if held[i] == tokens[i] and redis.call('LREM', active, -1, id) == 1 then
      letters[i] = 'f'
      ended[#ended + 1] = id
      if takes[i] then takers[#takers + 1] = tokens[i] end
      gone[#gone + 1], gone[#gone + 2], gone[#gone + 3] = locks[i], jobs .. id, jobs .. id .. ':logs'
    else
      letters[i] = 'l'
    end
  end
  if #ended > 0 then
    redis.call('DEL', unpack(gone))
    redis.call('SREM', stalled, unpack(ended))
  end
  return table.concat(letters), takers
end

local letters, takers = finish()
local want = #takers
if want == 0 then return { letters, 'enough', 0 } end

local paused, most, maxJobs, windowMs = unpack(redis.call('HMGET', meta, 'paused', 'concurrency', 'max', 'duration'))
if paused then return { letters, 'none', 0 } end
-- What is due now is put in its place first.
local due = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
local dueMs = due[2] and due[2] / 4096
if most or (dueMs and dueMs < nowMs + 1) then return { letters, 'other', 0 } end

if maxJobs then
  local room = maxJobs - tonumber(redis.call('GET', limiter) or '0')
  local ms = room <= 0 and redis.call('PTTL', limiter) or 0
  if ms > 0 then return { letters, 'limited', ms } end
  if room > 0 then want = math.min(want, room) end
end

local reply = { letters, want == #takers and 'enough' or 'limited', 0 }
local isOdd = false

-- Reads the jobs until one is not plain; returns how many are.
local function read(ids, from, to, by)
  local count = 0
  for i = from, to, by do
    local f = redis.call('HMGET', jobs .. ids[i], 'name', 'data', 'timestamp', 'stc', 'parentKey', 'deid', 'rjk', 'defa')
    isOdd = not (f[1] and f[2]) or (f[5] or f[6] or f[7] or f[8]) and true or false
    if isOdd then break end
    reply[#reply + 1] = { ids[i], f[1], f[2], f[3] or '0', f[4] or '0' }
    count = count + 1
  end
  return count
end

local ids = redis.call('LRANGE', waiting, -want, -1)
local taken = read(ids, #ids, 1, -1)
if taken > 0 then redis.call('RPOP', waiting, taken) end
if not isOdd and taken < want then
  local next = redis.call('ZRANGE', prioritized, 0, want - taken - 1)
  local more = read(next, 1, #next, 1)
  if more > 0 then redis.call('ZREM', prioritized, unpack(next, 1, more)) end
  if #next == 0 then redis.call('DEL', counter) end
  taken = taken + more
end

if taken > 0 then
  local began = string.format('%.0f', nowMs)
  local lock = string.format('%.0f', lockMs)
  local begun = {}
  for i = 1, taken do
    local id = reply[i + 3][1]
    begun[i] = id
    redis.call('SET', jobs .. id .. ':lock', takers[i], 'PX', lock)
    redis.call('HSET', jobs .. id, 'processedOn', began)
  end
  redis.call('LPUSH', active, unpack(begun))
  if maxJobs and redis.call('INCRBY', limiter, taken) == taken then redis.call('PEXPIRE', limiter, windowMs) end
  redis.call('ZADD', marker, 0, '0')
end
if isOdd then
  reply[2] = 'other'
elseif taken < want then
  reply[2], reply[3] = 'none', dueMs and math.ceil(dueMs - nowMs) or 0
elseif want < #takers then
  reply[3] = math.max(1, redis.call('PTTL', limiter))
end
return reply
