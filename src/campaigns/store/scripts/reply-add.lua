-- Queues a received message of a lane that may answer one of its campaigns.
--
-- Keys:
--   replies     ZSET  digest of its id -> when it was received (ms)
-- Arguments:
--   message
--   receivedAt
--   most        that may wait
--   keepMs
local replies = unpack(KEYS)
local message, receivedAt, most, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
if redis.call('ZCARD', replies) >= most then return 0 end
redis.call('ZADD', replies, string.format('%.0f', receivedAt), message)
redis.call('PEXPIRE', replies, keepMs)
return 1
