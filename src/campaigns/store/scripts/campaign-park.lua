-- Whoever works on a running campaign lets go of it for a while: nobody need give a sign of life until then.
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
local arg = cmsgpack.unpack(ARGV[1])
local found = redis.call('HMGET', campaign, 'state', 'epoch')
if found[1] ~= 'running' or tonumber(found[2]) ~= arg.epoch then return 0 end
local t = redis.call('TIME')
local untilMs = t[1] * 1000 + math.floor(t[2] / 1000) + arg.ms
redis.call('HSET', parked, arg.number, string.format('%.0f %.0f %s', arg.epoch, untilMs, arg.reason))
if arg.rate then redis.call('HSET', campaign, 'rate', arg.rate) end
return 1
