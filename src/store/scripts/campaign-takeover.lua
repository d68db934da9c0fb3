-- Takes over a running campaign that nobody has worked on for a while: a new epoch begins, so that only one of those
-- who ask takes it, and one that was only slow stops when it looks next.
-- KEYS[1] HASH of the campaign
-- ARGV[1] ms of silence
-- Output: the new epoch, or false when it is being worked on or does not run
local campaign = redis.call('HMGET', KEYS[1], 'state', 'beat')
if campaign[1] ~= 'running' then return false end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now - tonumber(campaign[2] or '0') < tonumber(ARGV[1]) then return false end
redis.call('HSET', KEYS[1], 'beat', string.format('%.0f', now))
return redis.call('HINCRBY', KEYS[1], 'epoch', 1)
