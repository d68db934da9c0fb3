-- No status poll of the lane leaves for so long: the provider has said that they are too many. A rest that ends later
-- stays.
--
-- KEYS[1] when the next poll may leave (STRING)     ARGV[1] ms
-- include message-cooldowns
local t = redis.call('TIME')
restLane(KEYS[1], tonumber(ARGV[1]), t[1] * 1000 + math.floor(t[2] / 1000))
