#!lua flags=allow-oom
-- Another slot for a request that has missed its own. While nobody has reserved the next one, all that follow move
-- instead and it may leave at once.
-- KEYS[1] last slot of the lane (STRING)
-- ARGV[1] slot that was missed, as it was given out    ARGV[2] gap (µs)    ARGV[3] most ahead (µs)
-- Output: {slot, time (µs)}; {'', time} when the next one is further ahead than that: nothing was reserved
-- include message-pace
local nowUs, gapUs = redisNowUs(), tonumber(ARGV[2])
local last = redis.call('GET', KEYS[1])
local slotUs = last == ARGV[1] and nowUs or slotAfter(last, nowUs, gapUs, 0)
if slotUs - nowUs > tonumber(ARGV[3]) then return { '', string.format('%.0f', nowUs) } end
return { reserve(KEYS[1], slotUs, nowUs, gapUs), string.format('%.0f', nowUs) }
