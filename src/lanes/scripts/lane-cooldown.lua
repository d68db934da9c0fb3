#!lua flags=allow-oom
-- Begins a cooldown of a lane without a step of a message, as after answers that prove nothing. One that ends later stays.
--
-- Keys:
--   cooldown  STRING  when the cooldown of the lane ends (ms)
-- Arguments:
--   ms
--   reason    `code|sentence`
-- include ../../messages/store/scripts/message-cooldowns
local cooldown = unpack(KEYS)
local ms, reason = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local t = redis.call('TIME')
coolLane(cooldown, ms, t[1] * 1000 + math.floor(t[2] / 1000), reason)
return 'OK'
