#!lua flags=no-writes
-- One look at a lane.
--
-- KEYS[1] waiting (LIST)  KEYS[2] prioritized (ZSET)  KEYS[3] delayed (ZSET)  KEYS[4] active (LIST): BullMQ's
-- KEYS[5] meta (HASH)  KEYS[6] limiter (STRING): BullMQ's    KEYS[7] rest of the lane (STRING)
-- KEYS[8] messages in doubt (ZSET)  KEYS[9] messages queued again (ZSET)  KEYS[10] messages to poll (ZSET)
-- KEYS[11] awake campaigns (HASH)
-- Output: {waiting, delayed, active, awake campaigns, '1' when the lane is held, job that goes next ('' = none),
-- earliest time (ms) of 8, 9 and 10, each '' when there is none}
local function earliest(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local waiting, prioritized = redis.call('LLEN', KEYS[1]), redis.call('ZCARD', KEYS[2])
local head, held = '', '0'
if waiting + prioritized > 0 then
  head = redis.call('LINDEX', KEYS[1], -1) or redis.call('ZRANGE', KEYS[2], 0, 0)[1] or ''
  if
    redis.call('HEXISTS', KEYS[5], 'paused') == 1
    or redis.call('EXISTS', KEYS[6]) == 1
    or tonumber(redis.call('GET', KEYS[7]) or '0') > now
  then
    held = '1'
  end
end
return {
  waiting + prioritized,
  redis.call('ZCARD', KEYS[3]),
  redis.call('LLEN', KEYS[4]),
  redis.call('HLEN', KEYS[11]),
  held,
  head,
  earliest(KEYS[8]),
  earliest(KEYS[9]),
  earliest(KEYS[10]),
}
