-- Counts a requeue job among the open ones of its account, if there is room. Idempotent.
--
-- Keys:
--   open     ZSET  the account's open jobs by the time of their request
-- Arguments:
--   job
--   nowMs
--   mostOpen
--   keepMs   how long a job is kept
-- Output: 1 when it is among them now; 0 when there are too many
local open = unpack(KEYS)
local job, nowMs, mostOpen, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
redis.call('ZREMRANGEBYSCORE', open, '-inf', nowMs - keepMs)
if redis.call('ZSCORE', open, job) then return 1 end
if redis.call('ZCARD', open) >= mostOpen then return 0 end
redis.call('ZADD', open, nowMs, job)
redis.call('PEXPIRE', open, keepMs)
return 1
