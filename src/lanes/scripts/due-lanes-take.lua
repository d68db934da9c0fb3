#!lua flags=allow-oom
-- Takes lanes whose time has come, and puts each off, so that it is looked at again even when nobody ends this look.
--
-- Keys:
--   due      ZSET  lanes to look at
-- Arguments:
--   againMs  until they are looked at again
--   most     lanes
-- Output: {the time that they are put off to (ms), lane, lane, ...}
local due = unpack(KEYS)
local againMs, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local now = redisNowMs()
local till = now + againMs
local taken = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)
for _, lane in ipairs(taken) do
  redis.call('ZADD', due, till, lane)
end
return { till, unpack(taken) }
