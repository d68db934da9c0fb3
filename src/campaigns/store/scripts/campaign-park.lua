-- Whoever works on a running campaign lets go of it for a while: nobody need give a sign of life until then.
-- KEYS[1] HASH of the campaign      KEYS[2] HASH of the lane's parked campaigns
-- ARGV[1] epoch that it works for      ARGV[2] number of the campaign      ARGV[3] ms      ARGV[4] reason
-- ARGV[5] messages per second measured ('' = leave it)
-- Output: 1; 0 when the campaign does not run in this epoch any more
local campaign = redis.call('HMGET', KEYS[1], 'state', 'epoch')
if campaign[1] ~= 'running' or campaign[2] ~= ARGV[1] then return 0 end
local t = redis.call('TIME')
local untilMs = t[1] * 1000 + math.floor(t[2] / 1000) + tonumber(ARGV[3])
redis.call('HSET', KEYS[2], ARGV[2], string.format('%s %.0f %s', ARGV[1], untilMs, ARGV[4]))
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'rate', ARGV[5]) end
return 1
