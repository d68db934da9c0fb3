-- Parks a running campaign: its fan-out ends for a while and need not send heartbeats until then.
--
-- Keys:
--   campaign  HASH
--   parked    HASH  the lane's parked campaigns
-- Arguments:
--   epoch     that it works for
--   number    of the campaign
--   ms
--   reason
--   rate?     messages per second measured, as text
-- Output: 1; 0 when the campaign does not run in this epoch any more
local campaign, parked = unpack(KEYS)
local epoch, number, ms, reason, rate = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
local found = redis.call('HMGET', campaign, 'state', 'epoch')
if found[1] ~= 'running' or tonumber(found[2]) ~= epoch then return 0 end
local untilMs = redisNowMs() + ms
redis.call('HSET', parked, number, string.format('%.0f %.0f %s', epoch, untilMs, reason))
if rate then redis.call('HSET', campaign, 'rate', rate) end
return 1
