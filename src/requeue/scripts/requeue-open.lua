-- Counts a requeue job among the open ones of its account, if there is room. Running it twice changes nothing.
-- KEYS[1] ZSET of the account's open jobs by when they were asked for
-- ARGV[1] job      ARGV[2] time (ms)      ARGV[3] most open jobs      ARGV[4] ms that a job is kept
-- Output: 1 when it is among them now; 0 when there are too many
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2] - ARGV[4])
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
