#!lua flags=allow-oom
-- Reserves other slots for requests that have missed theirs, and frees the missed ones.
--
-- Keys:
--   slots        LIST  latest slots of the lane
-- Arguments:
--   missed       slots that were missed, as they were returned
--   mostAheadUs
--   pace         as message-claim.lua takes it
-- Output: {time (µs), slot, ...}: fewer than were missed when the next one is further ahead than that
-- include message-pace
local slots = unpack(KEYS)
local missed, mostAheadUs, pace = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local nowUs = redisNowUs()
for _, name in ipairs(missed) do redis.call('LREM', slots, 1, name) end
local lane = openSlots(slots, nowUs, pace, #missed)
local reply = { string.format('%.0f', nowUs) }
for _ = 1, #missed do
  local slotUs = lane.next()
  if slotUs - nowUs > mostAheadUs then break end
  reply[#reply + 1] = lane.reserve(slotUs)
end
lane.write()
return reply
