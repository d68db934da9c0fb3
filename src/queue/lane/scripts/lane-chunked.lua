#!lua flags=no-writes
-- How many recipients wait in chunks of a lane.
--
-- Keys:
--   chunksWaiting    LIST    chunks: BullMQ's
--   chunksDelayed    ZSET    chunks: BullMQ's
--   chunksActive     LIST    chunks: BullMQ's
--   activeCampaigns  HASH    number -> state
--   campaigns        PREFIX  what the keys of the lane's campaigns begin with
-- Output: their number
-- include chunk-places
local chunksWaiting, chunksDelayed, chunksActive, activeCampaigns, campaigns = unpack(KEYS)
local chunks = {}
for _, ids in ipairs({
  redis.call('LRANGE', chunksWaiting, 0, -1),
  redis.call('ZRANGE', chunksDelayed, 0, -1),
  redis.call('LRANGE', chunksActive, 0, -1),
}) do
  for _, id in ipairs(ids) do chunks[#chunks + 1] = id end
end
if #chunks == 0 then return 0 end
local states, found = {}, redis.call('HGETALL', activeCampaigns)
for i = 1, #found, 2 do states[found[i]] = found[i + 1] end
return placesInChunks(chunks, states, campaigns)
