#!lua flags=allow-oom
-- Takes lanes whose time has come, and puts each off, so that it is looked at again even when nobody ends this look.
--
-- KEYS[1] lanes to look at (ZSET)    ARGV[1] ms until they are looked at again    ARGV[2] most lanes
-- Output: {now (ms), the time that they are put off to (ms), lane, lane, …}
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local till = now + tonumber(ARGV[1])
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])
for _, lane in ipairs(due) do
  redis.call('ZADD', KEYS[1], till, lane)
end
return { now, till, unpack(due) }
