#!lua flags=allow-oom
-- Lists a lane or portfolio whose messages WhatsApp may hold, for the sweep that examines held places.
--
-- Keys:
--   holders  ZSET    lanes or portfolios -> until when (ms)
-- Arguments:
--   holder
--   now      ms
--   heldMs   how long one is noted
local holders = unpack(KEYS)
local holder, now, heldMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
redis.call('ZREMRANGEBYSCORE', holders, '-inf', now)
redis.call('ZADD', holders, string.format('%.0f', now + heldMs), holder)
redis.call('PEXPIRE', holders, heldMs)
