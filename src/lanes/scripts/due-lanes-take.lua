#!lua flags=allow-oom
-- Takes lanes that are due and postpones each, so that it is due again even if the sweeper dies before it settles them.
--
-- Keys:
--   due      ZSET  lanes that are due
-- Arguments:
--   againMs  until they are due again
--   most     lanes
-- Output: {the score that they got (ms), lane, lane, ...}
local due = unpack(KEYS)
local againMs, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local now = redisNowMs()
local till = now + againMs
local taken = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, most)
for _, lane in ipairs(taken) do
  redis.call('ZADD', due, till, lane)
end
return { till, unpack(taken) }
