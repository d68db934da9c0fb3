-- No status poll of the lane leaves for so long: the provider has said that they are too many. A cooldown that ends later
-- stays.
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
