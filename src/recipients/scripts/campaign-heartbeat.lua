-- Writes the heartbeat of a fan-out, also during a long step, and ends its parking.
--
-- Keys:
--   campaign  HASH
--   parked    HASH  the lane's parked campaigns
-- Arguments:
--   epoch     that it works for
--   number    of the campaign
local campaign, parked = unpack(KEYS)
local epoch, number = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local parking = redis.call('HGET', parked, number)
if parking and tonumber(string.match(parking, '^%d+')) == epoch then redis.call('HDEL', parked, number) end
local found = redis.call('HMGET', campaign, 'state', 'epoch')
if found[1] ~= 'running' or tonumber(found[2]) ~= epoch then return false end
redis.call('HSET', campaign, 'beat', string.format('%.0f', redisNowMs()))
return 'OK'
