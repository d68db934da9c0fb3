-- A cooldown of the lane's status polls, because the provider has throttled them. One that ends later stays.
--
-- Keys:
--   nextPoll  STRING  when the next poll may leave (ms)
-- Arguments:
--   ms
-- include message-cooldowns
local nextPoll = unpack(KEYS)
local ms = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local t = redis.call('TIME')
coolLane(nextPoll, ms, t[1] * 1000 + math.floor(t[2] / 1000))
