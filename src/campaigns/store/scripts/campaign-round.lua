-- One round of a campaign's fan-out: moves its cursor, says that somebody is at work, and reads all that the next round
-- is decided by, as one picture.
-- KEYS[1] HASH of the campaign      KEYS[2] HASH of its counts      KEYS[3] HASH of the lane's campaigns
-- KEYS[4] waiting (LIST), KEYS[5] prioritized (ZSET), KEYS[6] delayed (ZSET), KEYS[7] active (LIST) jobs of the lane
-- KEYS[8] STRING how often the lane was throttled
-- ARGV[1] epoch      ARGV[2] cursor before ('' = leave it)      ARGV[3] cursor after
-- ARGV[4] messages per second measured      ARGV[5] pace it is held to ('' = none)
-- Output: {'over'} when the campaign does not run in this epoch any more; else
--   {'on', time (ms), cursor, running campaigns of the lane, backlog of the lane, throttled, {letter, count, ...}}
local campaign = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'next')
if campaign[1] ~= 'running' then return { 'over' } end
if campaign[2] ~= ARGV[1] then
  -- Taken over while it fed: what it put on the lane is there all the same, and need not be fed once more.
  if ARGV[2] ~= '' and (campaign[3] or '0') == ARGV[2] and tonumber(ARGV[3]) > tonumber(ARGV[2]) then
    redis.call('HSET', KEYS[1], 'next', ARGV[3])
  end
  return { 'over' }
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local cursor = campaign[3] or '0'
-- Somebody else may have moved it: two at work feed the same messages, which is harmless, but only one moves on.
if ARGV[2] ~= '' and cursor == ARGV[2] then cursor = ARGV[3] end
redis.call('HSET', KEYS[1], 'next', cursor, 'beat', string.format('%.0f', now), 'rate', ARGV[4], 'pace', ARGV[5])

local running = 0
for _, state in ipairs(redis.call('HVALS', KEYS[3])) do
  if state == 'running' then running = running + 1 end
end
local backlog = redis.call('LLEN', KEYS[4]) + redis.call('ZCARD', KEYS[5])
  + redis.call('ZCARD', KEYS[6]) + redis.call('LLEN', KEYS[7])
local throttled = tonumber(redis.call('GET', KEYS[8]) or '0')
return { 'on', now, tonumber(cursor), running, backlog, throttled, redis.call('HGETALL', KEYS[2]) }
