#!lua flags=no-writes
-- All that metrics, lists and the console show of a lane, read in one step.
--
-- Keys:
--   waiting          LIST    jobs, the next one last: BullMQ's
--   prioritized      ZSET    jobs: BullMQ's
--   delayed          ZSET    jobs: BullMQ's
--   active           LIST    jobs: BullMQ's
--   deadLetters      ZSET    jobs: BullMQ's
--   meta             HASH    of the queue: BullMQ's
--   places           ZSET    places of campaigns that wait, by their turns
--   cooldown         STRING  when the cooldown of the lane ends (ms)
--   cooldownReason   STRING  `code|sentence`
--   inDoubt          ZSET    messages in doubt
--   requeueable      ZSET    messages that can be requeued
--   polls            ZSET    messages to poll, by when
--   reopened         STRING  how often the lane was reopened
--   slots            LIST    the latest slots (µs), the last one first
--   activeCampaigns  HASH    number -> state
--   campaigns        PREFIX  what the keys of the lane's campaigns begin with
--   records          PREFIX  what the keys of records begin with
-- The two prefixes go as keys, which are text: an argument is packed, and a command with bytes in it takes a client
-- twice as long to write.
-- Output: {numbers, next job, its history, next job of a campaign, its history, reason of the cooldown, then number,
-- state and recipients without an outcome of each active campaign}; what is not there is ''. The numbers share one
-- string: reading a list of them takes a client three times as long.
-- constants
local waiting, prioritized, delayed, active, deadLetters, meta, places, cooldown, cooldownReason, inDoubt, requeueable, polls,
  reopened, slots, activeCampaigns, campaigns, records = unpack(KEYS)
-- In these states a message has not ended.
local OPEN = QUEUED .. SENDING .. UNCONFIRMED
-- Bounds of what is read: this script must take no more than microseconds.
local CAMPAIGNS_MAX, COUNTED_MAX, DOUBT_SAMPLE = 50, 20, 64

local function historyOf(job)
  return job and redis.call('HGET', records .. (string.match(job, '_(%w+)$') or ''), FIELD.history) or ''
end

local remaining, found = {}, redis.call('HGETALL', activeCampaigns)
for i = 1, #found, 2 do
  if i < 2 * CAMPAIGNS_MAX then
    local key, left = campaigns .. found[i], 0
    if i < 2 * COUNTED_MAX then
      left = tonumber(redis.call('HGET', key, 'total') or '0')
      local counts = redis.call('HGETALL', key .. SUFFIX.counts)
      for j = 1, #counts, 2 do
        -- Other fields (ASIDE) count some messages a second time.
        local isState = #counts[j] == 1
        if isState and not string.find(OPEN, counts[j], 1, true) then
          left = left - tonumber(counts[j + 1])
        end
      end
    end
    remaining[#remaining + 1] = found[i]
    remaining[#remaining + 1] = found[i + 1]
    remaining[#remaining + 1] = string.format('%.0f', math.max(0, left))
  end
end

-- The campaign that goes next.
local run = string.match(redis.call('ZRANGE', places, 0, 0)[1] or '', '^%d+')

-- How many of those in doubt are being sent; the rest are unconfirmed. Of very many, a sample is scaled up.
local doubted = redis.call('ZCARD', inDoubt)
local sample, sending = redis.call('ZRANGE', inDoubt, 0, DOUBT_SAMPLE - 1), 0
for _, ulid in ipairs(sample) do
  if redis.call('HGET', records .. ulid, FIELD.state) == SENDING then sending = sending + 1 end
end
if doubted > #sample then sending = math.floor(sending * doubted / #sample + 0.5) end

local t = redis.call('TIME')
local numbers = {
  [NUMBER.nowUs] = string.format('%.0f', t[1] * 1000000 + t[2]),
  [NUMBER.transactional] = redis.call('LLEN', waiting),
  [NUMBER.campaign] = redis.call('ZCARD', prioritized),
  [NUMBER.places] = redis.call('ZCARD', places),
  [NUMBER.delayed] = redis.call('ZCARD', delayed),
  [NUMBER.active] = redis.call('LLEN', active),
  [NUMBER.deadLetters] = redis.call('ZCARD', deadLetters),
  [NUMBER.paused] = redis.call('HEXISTS', meta, META.paused),
  [NUMBER.cooldownUntil] = redis.call('GET', cooldown) or 0,
  [NUMBER.inDoubt] = doubted,
  [NUMBER.sending] = sending,
  [NUMBER.requeueable] = redis.call('ZCARD', requeueable),
  [NUMBER.pollsWaiting] = redis.call('ZCARD', polls),
  [NUMBER.firstPollAt] = redis.call('ZRANGE', polls, 0, 0, 'WITHSCORES')[2] or 0,
  [NUMBER.reopened] = redis.call('GET', reopened) or 0,
  [NUMBER.slots] = redis.call('LLEN', slots),
  [NUMBER.lastUs] = redis.call('LINDEX', slots, 0) or 0,
  [NUMBER.firstUs] = redis.call('LINDEX', slots, -1) or 0,
  [NUMBER.placeStartedAt] = run and redis.call('HGET', campaigns .. run, 'started_at') or 0,
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
  unpack(remaining),
}
