-- Queues a message again that ended failed, unknown, expired or cancelled. Refused when Redis is full, as a claim is:
-- nothing is lost by that. Running it twice changes nothing the second time.
--
-- Keys:
--   record       HASH  the message
--   queuedAgain  ZSET  messages of the lane that were queued again
--   requeueable  ZSET  messages of the lane that can be requeued
--   progress     HASH  how far the job that asks is on this lane
-- Arguments:
--   ulid
--   acceptedAt   ms
--   validUntil   ms, from now on
--   retentionMs
--   campaigns    what the keys of the lane's campaigns begin with
--   endedBy?     only when it ended at this time (ms) or before: what failed once more is not sent a third time
--   content?     what it says, should the record not hold it
--   forJob?      a job asks, and is told how many there were
--   jobWithinMs  until somebody makes sure that there is a job for it
-- Output: {verdict, state letter}: `done`; `ignored` and the state that forbids it; `campaign_over`: its campaign is
-- cancelled or not kept any more, so that nothing of it is sent; `without_content`; {'missing'}
-- include ../../messages/store/scripts/message-lifecycle
local record, queuedAgain, requeueable, progress = unpack(KEYS)
local ulid, acceptedAt, validUntil, retentionMs, campaigns, endedBy, content, forJob, jobWithinMs
  = unpack(cmsgpack.unpack(ARGV[1]), 1, 9)
local now = redisNowMs()
local p, exists = load(record)
if not exists then
  redis.call('ZREM', requeueable, ulid)
  return { 'missing' }
end
local before = p.state
if step(p, { kind = 'requeue' }) == 'ignored' then return { 'ignored', before } end
if endedBy then
  local endedAt = redis.call('ZSCORE', requeueable, ulid)
  if not endedAt or tonumber(endedAt) > endedBy then return { 'ignored', before } end
end
if p.run then
  local state = redis.call('HGET', campaigns .. p.run, 'state')
  if not state or state == 'cancelled' then return { 'campaign_over', before } end
end
if not p.has.p and not content then return { 'without_content', before } end

local cause = before == UNKNOWN and string.sub(p.has.e or '', 1, 12)
local isLost = cause == 'worker_lost|' or cause == 'record_lost|'
local fields = { 's', p.state, 'u', validUntil, 'h', appendHistory(p.history, p.state, now, acceptedAt, 'by hand') }
local function write(field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end
if p.repeats > 0 then write('o', p.repeats) end
if p.others ~= '' then write('b', p.others) end
if not p.has.p then write('p', content) end
redis.call('HSET', record, unpack(fields))
redis.call('HDEL', record, 'n', 'e')
-- It lives as long from now on as a new one, or what becomes of it could not be written down.
redis.call('PEXPIRE', record, retentionMs)
keepCampaign(campaigns, p.run, retentionMs)
count(campaigns, p.run, ulid, before, p.state, isLost)
redis.call('ZREM', requeueable, ulid)
redis.call('ZADD', queuedAgain, now + jobWithinMs, ulid)
-- The first count gives the hash an end of its own, should the job never come to move its cursor.
if forJob and redis.call('HINCRBY', progress, 'requeued', 1) == 1 then
  redis.call('PEXPIRE', progress, 604800000)
end
return { 'done', p.state }
