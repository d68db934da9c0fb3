-- A fan-out says that it is at work, also while a single step of it takes long. It is not parked any more.
-- KEYS[1] HASH of the campaign      KEYS[2] HASH of the lane's parked campaigns
-- ARGV[1] epoch that it works for      ARGV[2] number of the campaign
local parked = redis.call('HGET', KEYS[2], ARGV[2])
if parked and string.match(parked, '^%d+') == ARGV[1] then redis.call('HDEL', KEYS[2], ARGV[2]) end
local campaign = redis.call('HMGET', KEYS[1], 'state', 'epoch')
if campaign[1] ~= 'running' or campaign[2] ~= ARGV[1] then return false end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'beat', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)))
return 'OK'
