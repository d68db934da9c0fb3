-- Counts a requeue job among the open ones of its account, if there is room. Running it twice changes nothing.
--
-- Keys:
--   open     ZSET  the account's open jobs by when they were asked for
-- Arguments:
--   job
--   nowMs
--   mostOpen
--   keepMs   how long a job is kept
-- Output: 1 when it is among them now; 0 when there are too many
local open = unpack(KEYS)
local arg = cmsgpack.unpack(ARGV[1])
redis.call('ZREMRANGEBYSCORE', open, '-inf', arg.nowMs - arg.keepMs)
if redis.call('ZSCORE', open, arg.job) then return 1 end
if redis.call('ZCARD', open) >= arg.mostOpen then return 0 end
redis.call('ZADD', open, arg.nowMs, arg.job)
redis.call('PEXPIRE', open, arg.keepMs)
return 1
