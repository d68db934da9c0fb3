#!lua flags=allow-oom
-- Makes a dead letter of a waiting job, kept for people. Doing it again changes nothing.
--
-- Keys:
--   waiting      LIST  ids of jobs that wait: BullMQ's
--   prioritized  ZSET  ids of jobs that wait: BullMQ's
--   failed       ZSET  ids of dead letters, and since when (ms): BullMQ's
--   deaths       HASH  id of a job -> workers that died over it
-- Arguments:
--   jobs         what the keys of jobs begin with
--   id           of the job
--   reason
--   keptMs       dead letters older than this are removed
-- Output: 1, or 0 when the job does not wait
local waiting, prioritized, failed, deaths = unpack(KEYS)
local jobs, id, reason, keptMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local MOST_SWEPT = 500
if redis.call('LREM', waiting, -1, id) == 0 and redis.call('ZREM', prioritized, id) == 0 then return 0 end
local nowMs = redisNowMs()
local now = string.format('%.0f', nowMs)
redis.call('HSET', jobs .. id, JOB.failedReason, reason, JOB.finishedOn, now)
redis.call('ZADD', failed, now, id)
redis.call('HDEL', deaths, id)
local old = redis.call('ZRANGEBYSCORE', failed, '-inf', string.format('%.0f', nowMs - keptMs), 'LIMIT', 0, MOST_SWEPT)
for _, each in ipairs(old) do redis.call('DEL', jobs .. each) end
if #old > 0 then redis.call('ZREM', failed, unpack(old)) end
return 1
