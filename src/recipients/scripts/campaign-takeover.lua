-- Takes over a running campaign whose heartbeat is old: a new epoch begins, so that only one of several workers takes it
-- over, and a fan-out that was only slow stops at its next round.
--
-- Keys:
--   campaign  HASH
-- Arguments:
--   silentMs
--   seenHeartbeat? the heartbeat that the caller saw before; without it, it need not have seen one
-- Output: {'taken', new epoch}; {'on', latest heartbeat} when it is being worked on, or may be: after a stall of Redis the
--   heartbeat is old although a new one is on its way; {'over'} when the campaign does not run
local campaign = unpack(KEYS)
local silentMs, seenHeartbeat = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', campaign, 'state', 'beat')
if found[1] ~= 'running' then return { 'over' } end
local heartbeat = found[2] or '0'
local now = redisNowMs()
if now - tonumber(heartbeat) < silentMs or (seenHeartbeat and seenHeartbeat ~= heartbeat) then return { 'on', heartbeat } end
redis.call('HSET', campaign, 'beat', string.format('%.0f', now))
return { 'taken', redis.call('HINCRBY', campaign, 'epoch', 1) }
