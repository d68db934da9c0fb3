-- A fan-out says that it is at work, also while a single step of it takes long.
--
-- Keys:
--   campaign  HASH
-- Arguments:
--   epoch     that it works for
local campaign = unpack(KEYS)
local arg = cmsgpack.unpack(ARGV[1])
local found = redis.call('HMGET', campaign, 'state', 'epoch')
if found[1] ~= 'running' or tonumber(found[2]) ~= arg.epoch then return false end
local t = redis.call('TIME')
redis.call('HSET', campaign, 'beat', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)))
return 'OK'
