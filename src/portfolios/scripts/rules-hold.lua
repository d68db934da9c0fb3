#!lua flags=allow-oom
-- Gives a message that WhatsApp holds a held place, until the hold ends, or for a day.
--
-- Keys:
--   held     ZSET    messages that have a place -> ms until which it counts
--   active   STRING  there while any person is capped or any message held
-- Arguments:
--   message
--   heldMs   how long it has its place at most
--   given?   the time (ms), where it is not that of Redis
local held, active = unpack(KEYS)
local message, heldMs, given = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local now = given or redisNowMs()
local till = string.format('%.0f', now + heldMs)
redis.call('ZADD', held, till, message)
redis.call('PEXPIRE', held, heldMs)
if now + heldMs > redis.call('PEXPIRETIME', active) then redis.call('SET', active, '', 'PXAT', till) end
