#!lua
-- Claims a message for one attempt, before the request leaves, and reserves the slot that it leaves in. Refused when
-- Redis is full, on purpose: what cannot be written down must not be sent. Running it twice with the same attempt is
-- harmless.
--
-- Keys:
--   record            HASH    the message
--   inDoubt           ZSET    messages of the lane in doubt
--   requeueable       ZSET    messages of the lane that can be requeued
--   job               HASH    the message's job in BullMQ
--   laneCooldown      STRING  when the cooldown of the lane ends (ms)
--   recipientCooldown STRING  cooldown of the recipient
--   slots             LIST    latest slots of the lane
--   wait              STRING  there while the message waits
--   queuedAgain       ZSET    messages of the lane that were queued again
-- Arguments:
--   ulid
--   attempt         id of the attempt
--   acceptedAt      ms
--   validUntil      ms
--   lostAfterMs     the sweep takes the attempt for lost after this
--   retentionMs
--   run?            number of its campaign
--   campaigns       what the keys of the lane's campaigns begin with
--   evidenceWaitMs  evidence of another attempt is waited for so long, at least
--   workerLost      the error of one that was lost, `code|sentence`
--   pace?           {gapUs: between slots, closestUs: least gap, window: slots of it, aheadUs: of its slot at most}
--   newFields       {field, value, ...}: what a new record holds besides
-- Output: {verdict, state letter, attempt id on the record}, and of one that is sent with a pace {..., slot, time (µs)}.
-- The verdict `stopped`: its campaign does not run, nothing may be sent.
-- {'gone', state letter, ''}: a message of a campaign that was claimed before, of which the record is gone. Nothing may
-- be sent, nothing was written; message-conclude.lua ends it.
-- {'lane_cooldown', 'recipient_cooldown', 'message_waits' or 'too_early', state letter, ms to wait}: nothing may be sent, and
-- nothing was written. `too_early`: its slot would be too far ahead.
-- include message-lifecycle
-- include message-unsendable
-- include message-cooldowns
-- include message-pace
local record, inDoubt, requeueable, job, laneCooldown, recipientCooldown, slots, wait, queuedAgain = unpack(KEYS)
local ulid, attempt, acceptedAt, validUntil, lostAfterMs, retentionMs, run, campaigns, evidenceWaitMs, workerLost,
  pace, newFields = unpack(cmsgpack.unpack(ARGV[1]), 1, 12)

-- What an attempt has for writing its end down, in ms; see lostAfterMs in worker/send-message.ts.
local SETTLING = 5000
local nowUs = redisNowUs()
local now = math.floor(nowUs / 1000)
local m = {
  record = record,
  queuedAgain = queuedAgain,
  requeueable = requeueable,
  job = job,
  ulid = ulid,
  acceptedAt = acceptedAt,
  validUntil = validUntil,
  retentionMs = retentionMs,
  run = run,
  campaigns = campaigns,
  newFields = newFields,
}
local p, exists = load(record)
local before = exists and p.state or nil
local known = isGone(m, exists)
if known then return { 'gone', known, '' } end
if isStopped(m, p, exists, now) then return { 'stopped', p.state, p.attempt } end
if isExpired(m, p, exists, now) then return { 'done', p.state, p.attempt } end

local slotUs
if p.state == QUEUED then
  -- BullMQ goes by the clock of the worker that put it off and of the one that fetches it.
  local waitMs = redis.call('PTTL', wait)
  if waitMs > 0 then return { 'message_waits', p.state, math.min(waitMs, validUntil - now) } end
  local found = redis.call('MGET', laneCooldown, recipientCooldown)
  if found[1] and tonumber(found[1]) > now then return { 'lane_cooldown', p.state, tonumber(found[1]) - now } end
  if pace then
    slotUs = nextSlot(slots, nowUs, pace)
    local earlyUs = slotUs - nowUs - pace.aheadUs
    -- More than one slot is let pass, so that it is not asked again for each.
    if earlyUs > 0 then return { 'too_early', p.state, math.ceil((earlyUs + pace.aheadUs / 2) / 1000) } end
  end
  -- Last: a recipient's turn is used up by asking.
  local ms = found[2] and mustWait(recipientCooldown, found[2], now)
  -- What cannot go in time comes back when it is over, so that it is told then.
  if ms then return { 'recipient_cooldown', p.state, math.min(ms, validUntil - now) } end
end

local verdict = step(p, { kind = 'claim', attempt = attempt })
if verdict == 'ignored' then return { verdict, p.state, p.attempt } end

if verdict == 'held' then
  -- Two claims of one job: whoever made the first died with it, or was taken for dead.
  settle(m, p, exists, now, before, 'h', attempt, workerLost)
  -- Not before the request of the first attempt can be under way no more: a worker that was frozen or cut off from Redis,
  -- but lives, may yet say what came of it. The last of the ms of lostAfterMs are for writing that down.
  local lostAt = tonumber(redis.call('ZSCORE', inDoubt, ulid) or '0')
  redis.call('ZADD', inDoubt, math.max(now + evidenceWaitMs, lostAt - SETTLING), ulid)
  return { verdict, p.state, p.attempt }
end
if before then redis.call('ZREM', queuedAgain, ulid) end
settle(m, p, exists, now, before, 'c', attempt)
redis.call('ZADD', inDoubt, now + lostAfterMs, ulid)
if not pace then return { verdict, p.state, p.attempt } end
-- The same attempt asks again when the answer was lost: it gets another slot.
slotUs = slotUs or nextSlot(slots, nowUs, pace)
return { verdict, p.state, p.attempt, reserve(slots, slotUs, nowUs, pace), string.format('%.0f', nowUs) }
