-- Takes status polls of a lane that are due, within its budget. Every worker passes here, so the budget is the lane's,
-- whoever polls. A poll that is taken is due again when its lease ends, should its worker die over it.
--
-- KEYS[1] messages to poll (ZSET, by when)    KEYS[2] polls under way (ZSET, by the end of the lease)
-- KEYS[3] when the next poll may leave (STRING)
-- ARGV[1] most polls under way     ARGV[2] ms between two polls     ARGV[3] most in one go (0: only tells the wait)
-- ARGV[4] lease (ms)               ARGV[5] ms overdue after which a message is given up
-- Output: {ms until more can be taken (-1: nothing is left to poll), 1 when all places are taken, ulid, ...}
-- include message-cooldowns
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- What could not be asked about within its day is given up here and costs no poll: this bounds the list.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[5]))
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local free = tonumber(ARGV[1]) - redis.call('ZCARD', KEYS[2])
local opens = tonumber(redis.call('GET', KEYS[3]) or '0')

local taken = {}
if now >= opens and free > 0 then
  taken = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, math.min(free, tonumber(ARGV[3])))
  for _, ulid in ipairs(taken) do
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[4]), ulid)
    redis.call('ZADD', KEYS[2], now + tonumber(ARGV[4]), ulid)
  end
  if #taken > 0 then
    opens = now + #taken * tonumber(ARGV[2])
    restLane(KEYS[3], opens - now, now)
  end
end

local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if #first == 0 then return { -1, 0 } end
local wait = math.max(0, opens - now, tonumber(first[2]) - now)
local isFull = free <= #taken
if isFull then wait = math.max(wait, tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]) - now) end
return { math.ceil(wait), isFull and 1 or 0, unpack(taken) }
