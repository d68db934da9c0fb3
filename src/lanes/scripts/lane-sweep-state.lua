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
--   chunksWaiting   LIST    chunks, the next one last: BullMQ's
--   chunksDelayed   ZSET    chunks: BullMQ's
--   chunksActive    LIST    chunks: BullMQ's
--   chunkLimiter    STRING  there while nobody takes up chunks: BullMQ's
-- Output: {waiting, delayed, active, active campaigns, '1' when the lane is held, job that goes next ('' = none),
-- earliest time (ms) of inDoubt, queuedAgain and polls, each '' when there is none,
-- chunks that wait, are delayed or worked on, those that are worked on, chunk that goes next and may ('' = none),
-- the time (ms)}
local waiting, prioritized, delayed, active, meta, cooldown, inDoubt, queuedAgain, polls, activeCampaigns, chunksWaiting, chunksDelayed, chunksActive, chunkLimiter = unpack(KEYS)
local function earliest(key)
  return redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
end
local now = redisNowMs()
local waits = redis.call('LLEN', waiting) + redis.call('ZCARD', prioritized)
local head, held, chunkHead = '', '0', redis.call('LINDEX', chunksWaiting, -1) or ''
if
  redis.call('EXISTS', chunkLimiter) == 1
  or redis.call('HEXISTS', meta, META.paused) == 1
  or tonumber(redis.call('GET', cooldown) or '0') > now
then
  chunkHead = ''
end
if waits > 0 then
  head = redis.call('LINDEX', waiting, -1) or redis.call('ZRANGE', prioritized, 0, 0)[1] or ''
  if
    redis.call('HEXISTS', meta, META.paused) == 1
    or tonumber(redis.call('GET', cooldown) or '0') > now
  then
    held = '1'
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
  redis.call('LLEN', chunksWaiting) + redis.call('ZCARD', chunksDelayed) + redis.call('LLEN', chunksActive),
  redis.call('LLEN', chunksActive),
  chunkHead,
  now,
}
