-- Takes over a running campaign that nobody has worked on for a while: a new epoch begins, so that only one of those
-- who ask takes it, and one that was only slow stops when it looks next.
--
-- Keys:
--   campaign  HASH
-- Arguments:
--   silentMs
--   seenHeartbeat? the heartbeat that the caller saw before; without it, it need not have seen one
-- Output: {'taken', new epoch}; {'on', latest heartbeat} when it is being worked on, or may be: after a Redis that stood
--   still the heartbeat is old although it is on its way; {'over'} when the campaign does not run
local campaign = unpack(KEYS)
local silentMs, seenHeartbeat = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('HMGET', campaign, 'state', 'beat')
if found[1] ~= 'running' then return { 'over' } end
local heartbeat = found[2] or '0'
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now - tonumber(heartbeat) < silentMs or (seenHeartbeat and seenHeartbeat ~= heartbeat) then return { 'on', heartbeat } end
redis.call('HSET', campaign, 'beat', string.format('%.0f', now))
return { 'taken', redis.call('HINCRBY', campaign, 'epoch', 1) }
