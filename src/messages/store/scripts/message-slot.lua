#!lua flags=allow-oom
-- Another slot for a request that has missed its own, which counts for nothing any more.
--
-- Keys:
--   slots        LIST  latest slots of the lane
-- Arguments:
--   missed       slot that was missed, as it was given out
--   mostAheadUs
--   pace         {gapUs: between slots, closestUs: least gap, window: slots of it}
-- Output: {slot, time (µs)}; {'', time} when the next one is further ahead than that: nothing was reserved
-- include message-pace
local slots = unpack(KEYS)
local missed, mostAheadUs, pace = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local nowUs = redisNowUs()
redis.call('LREM', slots, 1, missed)
local lane = openSlots(slots, nowUs, pace, 1)
local slotUs = lane.next()
if slotUs - nowUs > mostAheadUs then return { '', string.format('%.0f', nowUs) } end
local reserved = lane.reserve(slotUs)
lane.write()
return { reserved, string.format('%.0f', nowUs) }
