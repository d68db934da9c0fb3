#!lua flags=allow-oom
-- Another slot for a request that has missed its own, which counts for nothing any more.
-- KEYS[1] latest slots of the lane (LIST)
-- ARGV[1] slot that was missed, as it was given out    ARGV[2] most ahead (µs)
-- ARGV[3] gap (µs)    ARGV[4] least gap (µs)    ARGV[5] slots of a window
-- Output: {slot, time (µs)}; {'', time} when the next one is further ahead than that: nothing was reserved
-- include message-pace
local nowUs = redisNowUs()
local pace = { gapUs = tonumber(ARGV[3]), closestUs = tonumber(ARGV[4]), window = tonumber(ARGV[5]) }
redis.call('LREM', KEYS[1], 1, ARGV[1])
local slotUs = nextSlot(KEYS[1], nowUs, pace)
if slotUs - nowUs > tonumber(ARGV[2]) then return { '', string.format('%.0f', nowUs) } end
return { reserve(KEYS[1], slotUs, nowUs, pace), string.format('%.0f', nowUs) }
