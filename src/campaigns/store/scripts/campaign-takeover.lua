-- Takes over a running campaign that nobody has worked on for a while: a new epoch begins, so that only one of those
-- who ask takes it, and one that was only slow stops when it looks next.
-- KEYS[1] HASH of the campaign
-- ARGV[1] ms of silence      ARGV[2] the heartbeat that whoever asks has seen before ('' = it need not have seen one)
-- Output: {'taken', new epoch}; {'on', latest heartbeat} when it is being worked on, or may be: after a Redis that stood
--   still the heartbeat is old although it is on its way; {'over'} when the campaign does not run
local campaign = redis.call('HMGET', KEYS[1], 'state', 'beat')
if campaign[1] ~= 'running' then return { 'over' } end
local beat = campaign[2] or '0'
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now - tonumber(beat) < tonumber(ARGV[1]) or (ARGV[2] ~= '' and ARGV[2] ~= beat) then return { 'on', beat } end
redis.call('HSET', KEYS[1], 'beat', string.format('%.0f', now))
return { 'taken', redis.call('HINCRBY', KEYS[1], 'epoch', 1) }
