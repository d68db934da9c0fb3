#!lua flags=allow-oom
-- Another slot for a request that has missed its own. While nobody has reserved the next one, all that follow move
-- instead and it may leave at once.
--
-- Keys:
--   lastSlot     STRING  last slot of the lane
-- Arguments:
--   missed       slot that was missed, as it was given out
--   gapUs        between slots
--   mostAheadUs
-- Output: {slot, time (µs)}; {'', time} when the next one is further ahead than that: nothing was reserved
-- include message-pace
local lastSlot = unpack(KEYS)
local arg = cmsgpack.unpack(ARGV[1])
local nowUs = redisNowUs()
local last = redis.call('GET', lastSlot)
local slotUs = last == arg.missed and nowUs or slotAfter(last, nowUs, arg.gapUs, 0)
if slotUs - nowUs > arg.mostAheadUs then return { '', string.format('%.0f', nowUs) } end
return { reserve(lastSlot, slotUs, nowUs, arg.gapUs), string.format('%.0f', nowUs) }
