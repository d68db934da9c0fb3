#!lua flags=no-writes
-- All that a snapshot shows of a lane, in one look.
--
-- Keys:
--   waiting          LIST    jobs, the next one last: BullMQ's
--   prioritized      ZSET    jobs: BullMQ's
--   deadLetters      ZSET    jobs: BullMQ's
--   meta             HASH    of the queue: BullMQ's
--   chunksWaiting    LIST    chunks, the next one last: BullMQ's
--   chunksDelayed    ZSET    chunks: BullMQ's
--   chunksActive     LIST    chunks: BullMQ's
--   cooldown         STRING  when the cooldown of the lane ends (ms)
--   cooldownReason   STRING  `code|sentence`
--   inDoubt          ZSET    messages in doubt
--   slots            LIST    the latest slots (µs), the last one first
--   activeCampaigns  HASH    number -> state
--   now              HASH    fine history of this hour
--   before           HASH    fine history of the hour before
-- Arguments:
--   records     what the keys of records begin with
--   campaigns   what the keys of the lane's campaigns begin with
--   places      of `now`, the oldest first
--   earlier     of `before`
-- Output: {numbers, next job, its history, next job of a campaign, its history, reason of the cooldown, counts of the
-- places of `before` and of `now` joined by `;`, numbers of active campaigns joined by spaces}; what is not there is ''.
-- The numbers are those below in their order, in one string.
-- include ../../../queue/lane/scripts/chunk-places
local waiting, prioritized, deadLetters, meta, chunksWaiting, chunksDelayed, chunksActive, cooldown, cooldownReason, inDoubt, slots, activeCampaigns, now, before = unpack(KEYS)
local records, campaigns, places, earlier = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
-- More are not looked at: this script must stay a matter of microseconds.
local CHUNKS_MAX, CAMPAIGNS_MAX, DOUBT_LOOKED_AT = 500, 50, 64

local function historyOf(job)
  return job and redis.call('HGET', records .. (string.match(job, '_(%w+)$') or ''), 'h') or ''
end

local chunks = {}
for _, ids in ipairs({
  redis.call('LRANGE', chunksWaiting, 0, CHUNKS_MAX - 1),
  redis.call('ZRANGE', chunksDelayed, 0, CHUNKS_MAX - 1),
  redis.call('LRANGE', chunksActive, 0, CHUNKS_MAX - 1),
}) do
  for _, id in ipairs(ids) do chunks[#chunks + 1] = id end
end
local active, states, found = {}, {}, redis.call('HGETALL', activeCampaigns)
for i = 1, #found, 2 do
  active[#active + 1] = found[i]
  states[found[i]] = found[i + 1]
end
local inChunks = placesInChunks(chunks, states, campaigns)
local chunk = string.match(redis.call('LINDEX', chunksWaiting, -1) or '', '^chunk_(%d+)_')

-- Of those in doubt, who is being sent: the rest is unconfirmed. Of very many the part of those that are looked at.
local doubted = redis.call('ZCARD', inDoubt)
local lookedAt, sending = redis.call('ZRANGE', inDoubt, 0, DOUBT_LOOKED_AT - 1), 0
for _, ulid in ipairs(lookedAt) do
  if redis.call('HGET', records .. ulid, 's') == 'c' then sending = sending + 1 end
end
if #lookedAt > 0 and doubted > #lookedAt then sending = math.floor(sending * doubted / #lookedAt + 0.5) end

local function countsOf(key, names)
  if #names == 0 then return {} end
  local values = redis.call('HMGET', key, unpack(names))
  for i = 1, #values do values[i] = values[i] or '' end
  return values
end
local counts = countsOf(before, earlier)
for _, value in ipairs(countsOf(now, places)) do counts[#counts + 1] = value end

local t = redis.call('TIME')
local numbers = {
  string.format('%.0f', t[1] * 1000000 + t[2]),
  redis.call('LLEN', waiting),
  redis.call('ZCARD', prioritized),
  inChunks,
  redis.call('ZCARD', deadLetters),
  redis.call('HEXISTS', meta, 'paused'),
  redis.call('LINDEX', slots, 0) or 0,
  redis.call('GET', cooldown) or 0,
  doubted,
  sending,
  redis.call('LLEN', slots),
  redis.call('LINDEX', slots, -1) or 0,
  chunk and states[chunk] == 'running' and redis.call('HGET', campaigns .. chunk, 'started_at') or 0,
}
local head = redis.call('LINDEX', waiting, -1)
local headOfCampaigns = redis.call('ZRANGE', prioritized, 0, 0)[1]
return {
  table.concat(numbers, ' '),
  head or '',
  historyOf(head),
  headOfCampaigns or '',
  historyOf(headOfCampaigns),
  redis.call('GET', cooldownReason) or '',
  table.concat(counts, ';'),
  table.concat(active, ' ', 1, math.min(#active, CAMPAIGNS_MAX)),
}
