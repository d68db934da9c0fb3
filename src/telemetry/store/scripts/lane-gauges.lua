#!lua flags=no-writes
-- What an operator wants to know of a lane, in one look.
--
-- Keys:
--   waiting          LIST    jobs, the next one last: BullMQ's
--   prioritized      ZSET    jobs: BullMQ's
--   delayed          ZSET    jobs: BullMQ's
--   active           LIST    jobs: BullMQ's
--   deadLetters      ZSET    jobs: BullMQ's
--   meta             HASH    of the queue: BullMQ's
--   cooldown         STRING  when the cooldown of the lane ends (ms)
--   inDoubt          ZSET    messages in doubt
--   requeueable      ZSET    messages that can be requeued
--   polls            ZSET    messages to poll, by when
--   reopened         STRING  how often the lane was reopened
--   activeCampaigns  HASH    number -> state
--   campaigns        PREFIX  what the keys of the lane's campaigns begin with
--   records          PREFIX  what the keys of records begin with
-- The two prefixes go as keys, which are text: an argument is packed, and a command with bytes in it takes a client twice as
-- long to write.
-- Output: {numbers, next job, its history, next job of a campaign, its history, state of a campaign, its recipients without
-- an outcome, ...}; a job is '' where there is none. The numbers are those below in their order, in one string: reading
-- a list of them takes a client three times as long, and it does so for a thousand lanes.
local waiting, prioritized, delayed, active, deadLetters, meta, cooldown, inDoubt, requeueable, polls, reopened, activeCampaigns, campaigns, records = unpack(KEYS)
-- More are not looked at: this script must stay a matter of microseconds.
local CAMPAIGNS_MAX = 20

local function historyOf(job)
  return job and redis.call('HGET', records .. (string.match(job, '_(%w+)$') or ''), 'h') or ''
end

local remaining, found = {}, redis.call('HGETALL', activeCampaigns)
for i = 1, math.min(#found, 2 * CAMPAIGNS_MAX), 2 do
  local key = campaigns .. found[i]
  local left = tonumber(redis.call('HGET', key, 'total') or '0')
  local counts = redis.call('HGETALL', key .. ':counts')
  for j = 1, #counts, 2 do
    -- Queued again, being sent and in doubt have not ended; `exempt` counts some that have once more.
    if not string.find('|q|c|l|exempt|', '|' .. counts[j] .. '|', 1, true) then left = left - tonumber(counts[j + 1]) end
  end
  remaining[#remaining + 1] = found[i + 1]
  remaining[#remaining + 1] = math.max(0, left)
end

local t = redis.call('TIME')
local numbers = {
  string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)),
  redis.call('LLEN', waiting),
  redis.call('ZCARD', prioritized),
  redis.call('ZCARD', delayed),
  redis.call('LLEN', active),
  redis.call('ZCARD', deadLetters),
  redis.call('HEXISTS', meta, 'paused'),
  redis.call('GET', cooldown) or 0,
  redis.call('ZCARD', inDoubt),
  redis.call('ZCARD', requeueable),
  redis.call('ZCARD', polls),
  redis.call('ZRANGE', polls, 0, 0, 'WITHSCORES')[2] or 0,
  redis.call('GET', reopened) or 0,
}
local head = redis.call('LINDEX', waiting, -1)
local headOfCampaigns = redis.call('ZRANGE', prioritized, 0, 0)[1]
return {
  table.concat(numbers, ' '),
  head or '',
  historyOf(head),
  headOfCampaigns or '',
  historyOf(headOfCampaigns),
  unpack(remaining),
}
