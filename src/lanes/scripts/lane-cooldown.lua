#!lua flags=allow-oom
-- Begins a cooldown of a lane without a step of a message, as after replies that prove nothing.
--
-- Keys:
--   cooldown  STRING  when the cooldown of the lane ends (ms)
-- Arguments:
--   ms
--   reason    `code|sentence`
--   mostMs?   the longest cooldown, of a lane that is probed after each one; without it, one that ends later stays
--   isProbe?  whether it was a probe that ended so
-- Output: {ms until it ends, 1 if it is new}
-- include ../messages/scripts/message-cooldowns
local cooldown = unpack(KEYS)
local ms, reason, mostMs, isProbe = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local now = redisNowMs()
if not mostMs then
  coolLane(cooldown, ms, now, reason)
  return { ms, 1 }
end
local left, isNew = coolForProbe(cooldown, ms, mostMs, isProbe, now, reason)
return { left, isNew and 1 or 0 }
