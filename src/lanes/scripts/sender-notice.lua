#!lua flags=allow-oom
-- Emits that a sender was blocked or has recovered, once each time: many messages in flight learn of it together.
--
-- Keys:
--   outbox   STREAM  events of the lane, if anybody wants them
--   blocked  STRING  there while the sender is blocked
-- Arguments:
--   isBlocked
--   reason
-- Output: 1 when that is new, else 0
local outbox, blocked = unpack(KEYS)
local isBlocked, reason = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if isBlocked == (redis.call('EXISTS', blocked) == 1) then return 0 end
if isBlocked then
  redis.call('SET', blocked, reason)
else
  redis.call('DEL', blocked)
end
if redis.call('EXISTS', outbox) == 1 then
  local event = { about = 'sender', blocked = isBlocked, reason = reason, at = redisNowMs() }
  redis.call('XADD', outbox, '*', ENTRY.events, cjson.encode(event))
end
return 1
