-- Takes status polls of a lane that are due, within the budget that all workers share. A poll that was taken is due again
-- when its lease ends, in case its worker has died.
--
-- Keys:
--   polls     ZSET    messages to poll, by when (ms)
--   underWay  ZSET    polls under way, by the end of the lease (ms)
--   nextPoll  STRING  when the next poll may leave (ms)
-- Arguments:
--   atOnce    most polls under way
--   spacingMs between two polls
--   inOneGo   most that are taken now (0: only returns the wait)
--   leaseMs
--   giveUpMs  overdue for so long, a message is given up
-- Output: {ms until more can be taken (-1: nothing is left to poll), 1 when all places are taken, ulid, ...}
-- include message-cooldowns
local polls, underWay, nextPoll = unpack(KEYS)
local atOnce, spacingMs, inOneGo, leaseMs, giveUpMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
local now = redisNowMs()

-- A poll that could not be made within its day is given up here: this bounds the list.
redis.call('ZREMRANGEBYSCORE', polls, '-inf', now - giveUpMs)
redis.call('ZREMRANGEBYSCORE', underWay, '-inf', now)
local free = atOnce - redis.call('ZCARD', underWay)
local opens = tonumber(redis.call('GET', nextPoll) or '0')

local taken = {}
if now >= opens and free > 0 then
  taken = redis.call('ZRANGEBYSCORE', polls, '-inf', now, 'LIMIT', 0, math.min(free, inOneGo))
  for _, ulid in ipairs(taken) do
    redis.call('ZADD', polls, now + leaseMs, ulid)
    redis.call('ZADD', underWay, now + leaseMs, ulid)
  end
  if #taken > 0 then
    opens = now + #taken * spacingMs
    coolLane(nextPoll, opens - now, now)
  end
end

local first = redis.call('ZRANGE', polls, 0, 0, 'WITHSCORES')
if #first == 0 then return { -1, 0 } end
local wait = math.max(0, opens - now, tonumber(first[2]) - now)
local isFull = free <= #taken
if isFull then wait = math.max(wait, tonumber(redis.call('ZRANGE', underWay, 0, 0, 'WITHSCORES')[2]) - now) end
return { math.ceil(wait), isFull and 1 or 0, unpack(taken) }
