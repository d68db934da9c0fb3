#!lua flags=no-writes
-- Reads what the sweeper needs to know of a lane, in one step.
--
-- Keys:
--   waiting         LIST    jobs, the next one last: BullMQ's
--   prioritized     ZSET    jobs: BullMQ's
--   delayed         ZSET    jobs: BullMQ's
--   active          LIST    jobs: BullMQ's
--   meta            HASH    of the queue: BullMQ's
--   cooldown        STRING  when the cooldown of the lane ends (ms)
--   inDoubt         ZSET    messages in doubt
--   queuedAgain     ZSET    messages queued again
--   polls           ZSET    messages to poll
--   activeCampaigns  HASH
--   places          ZSET    places of campaigns that wait, by their turns
--   campaigns       PREFIX  what the keys of the lane's campaigns begin with
-- Output: {waiting, delayed, active, active campaigns, '1' when the lane is held, job that goes next ('' = none),
-- earliest time (ms) of inDoubt, queuedAgain and polls, each '' when there is none,
-- places that wait, the one that goes next and may ('' = none), the time (ms)}
local waiting, prioritized, delayed, active, meta, cooldown, inDoubt, queuedAgain, polls, activeCampaigns, places, campaigns = unpack(KEYS)
local function earliest(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
end
local now = redisNowMs()
local waits = redis.call('LLEN', waiting) + redis.call('ZCARD', prioritized)
local placed = redis.call('ZCARD', places)
local head, held, placeHead = '', '0', ''
if waits + placed > 0 then
  local isHeld = redis.call('HEXISTS', meta, META.paused) == 1 or tonumber(redis.call('GET', cooldown) or '0') > now
  if waits > 0 then
    head = redis.call('LINDEX', waiting, -1) or redis.call('ZRANGE', prioritized, 0, 0)[1] or ''
    if isHeld then held = '1' end
  end
  if placed > 0 and not isHeld then
    placeHead = redis.call('ZRANGE', places, 0, 0)[1]
    -- It waits until a file is uploaded.
    if redis.call('EXISTS', campaigns .. string.match(placeHead, '^%d+') .. SUFFIX.filesWait) == 1 then placeHead = '' end
  end
end
return {
  waits,
  redis.call('ZCARD', delayed),
  redis.call('LLEN', active),
  redis.call('HLEN', activeCampaigns),
  held,
  head,
  earliest(inDoubt),
  earliest(queuedAgain),
  earliest(polls),
  placed,
  placeHead,
  now,
}
