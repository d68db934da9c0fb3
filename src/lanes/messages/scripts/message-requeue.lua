-- Queues messages of one lane again that ended failed, unknown, expired or cancelled. Refused when Redis is full, as a
-- claim is: nothing is lost by that. Idempotent.
--
-- Keys:
--   queuedAgain  ZSET  messages of the lane that were queued again
--   requeueable  ZSET  messages of the lane that can be requeued
--   progress     HASH  how far the job that requeues is on this lane
--   closed       STRING  there once the lane's sender was removed
-- Keys of each:
--   record       HASH  the message
-- Arguments:
--   retentionMs
--   campaigns    what the keys of the lane's campaigns begin with
--   endedBy?     only when it ended at this time (ms) or before: a message that fails again is not sent a third time
--   forJob?      a job requeues, whose counts are kept
--   jobWithinMs  how soon the sweep makes sure that each has a job
-- Arguments of each:
--   ulid
--   acceptedAt   ms
--   validUntil   ms, from now on
--   content?     in case the record does not hold it
-- Output, of each: {verdict, state letter}: `done`; `ignored` and the state that forbids it; `campaign_over`: its campaign
-- is cancelled or not kept any more, so that nothing of it is sent; `sender_removed`; `without_content`; {'missing'}; {'error', text}
-- include message-lifecycle
-- A requeue writes no event.
local function writeEvents() end
-- include message-many
local queuedAgain, requeueable, progress, closed = unpack(KEYS, 1, 4)
local retentionMs, campaigns, endedBy, forJob, jobWithinMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 5)
local each = cmsgpack.unpack(ARGV[2])
local now = redisNowMs()
local isClosed = redis.call('EXISTS', closed) == 1

-- Whether nothing more of the campaign is sent; read once for all of its messages.
local over = {}
local function isOver(run)
  if over[run] == nil then
    local state = redis.call('HGET', campaigns .. run, 'state')
    over[run] = not state or state == 'cancelled'
  end
  return over[run]
end

local queued = 0
local function take(i)
  local record = unpack(KEYS, 1 * i + 4, 1 * i + 4)
  local ulid, acceptedAt, validUntil, content = unpack(each[i], 1, 4)
  local p, exists = load(record)
  if not exists then
    removeLater(requeueable, ulid)
    return { 'missing' }
  end
  local before = p.state
  if step(p, { kind = MOVE.requeue }) == 'ignored' then return { 'ignored', before } end
  if endedBy then
    local endedAt = redis.call('ZSCORE', requeueable, ulid)
    if not endedAt or tonumber(endedAt) > endedBy then return { 'ignored', before } end
  end
  if isClosed then return { 'sender_removed', before } end
  if p.run and isOver(p.run) then return { 'campaign_over', before } end
  if not p.has.payload and not content then return { 'without_content', before } end

  local fields = {
    FIELD.state, p.state, FIELD.validUntil, validUntil,
    FIELD.history, appendHistory(p.history, p.state, now, acceptedAt, 'by hand'),
  }
  local function write(field, value)
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  if p.repeats > 0 then write(FIELD.repeats, p.repeats) end
  if p.others ~= '' then write(FIELD.others, p.others) end
  if not p.has.payload then write(FIELD.payload, content) end
  redis.call('HSET', record, unpack(fields))
  if p.has.tries or p.has.problem then
    redis.call('HDEL', record, FIELD.tries, FIELD.problem, FIELD.cappedUntil)
  end
  -- It is kept as long as a new one, or its outcome could not be written.
  redis.call('PEXPIRE', record, retentionMs)
  keepCampaign(campaigns, p.run, retentionMs)
  local wasCapped = p.run and p.has.cappedUntil and countedAs(campaigns, p.run, ulid, before, p.repeats) == FAILED or false
  count(campaigns, p.run, ulid, p.repeats, before, p.state, p.has.problem)
  countAside(campaigns, p.run, ASIDE.capped, wasCapped, false)
  removeLater(requeueable, ulid)
  addLater(queuedAgain, now + jobWithinMs, ulid)
  queued = queued + 1
  return { 'done', p.state }
end

local results = forEach(each, campaigns, take)
-- The first count sets an expiry, in case the job never comes to move its cursor.
if forJob and queued > 0 and redis.call('HINCRBY', progress, 'requeued', queued) == queued then
  redis.call('PEXPIRE', progress, 604800000)
end
return results
