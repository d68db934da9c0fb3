#!lua
-- Claims a message for one attempt, before the request leaves, and reserves the slot that it leaves in. Refused when
-- Redis is full, on purpose: what cannot be written down must not be sent. Running it twice with the same attempt is
-- harmless.
--
-- KEYS[1] record of the message (HASH)
-- KEYS[2] open messages of the lane (ZSET)      KEYS[3] messages that ended badly (ZSET)
-- KEYS[4] the message's job in BullMQ (HASH)    KEYS[5] rest of the lane, KEYS[6] rest of the recipient (STRING)
-- KEYS[7] latest slots of the lane (LIST)         KEYS[8] there while the message waits (STRING)
-- KEYS[9] messages queued again (ZSET)
-- ARGV[1] ulid        ARGV[2] attempt id          ARGV[3] accepted at (ms)   ARGV[4] valid until (ms)
-- ARGV[5] ms after which the sweep takes the attempt for lost                ARGV[6] retention (ms)
-- ARGV[7] number of the campaign ('' = none)     ARGV[8] what the keys of the lane's campaigns begin with
-- ARGV[9] ms that evidence of another attempt is waited for, at least
-- ARGV[10] the error of one that was lost, `code|sentence`
-- ARGV[11] gap between slots (µs; '' = without pace)   ARGV[12] least gap (µs)   ARGV[13] slots of a window
-- ARGV[14] how far ahead its slot may be (µs)
-- ARGV[15…] field, value, …: what a new record holds besides
-- Output: {verdict, state letter, attempt id on the record}, and of one that is sent with a pace {…, slot, time (µs)}.
-- The verdict `stopped`: its campaign does not run, nothing may be sent.
-- {'gone', state letter, ''}: a message of a campaign that was claimed before, of which the record is gone. Nothing may
-- be sent, nothing was written; message-conclude.lua ends it.
-- {'lane_rests', 'recipient_rests', 'message_waits' or 'too_early', state letter, ms to wait}: nothing may be sent, and
-- nothing was written. `too_early`: its slot would be too far ahead.
-- include message-lifecycle
-- include message-unsendable
-- include message-cooldowns
-- include message-pace

-- What an attempt has for writing its end down, in ms; see lostAfterMs in worker/send-message.ts.
local SETTLING = 5000
local nowUs = redisNowUs()
local now = math.floor(nowUs / 1000)
local gapUs = tonumber(ARGV[11])
local pace = gapUs and { gapUs = gapUs, closestUs = tonumber(ARGV[12]), window = tonumber(ARGV[13]) }
local m = {
  record = KEYS[1],
  open = KEYS[2],
  queuedAgain = KEYS[9],
  badly = KEYS[3],
  job = KEYS[4],
  ulid = ARGV[1],
  accepted = tonumber(ARGV[3]),
  validUntil = tonumber(ARGV[4]),
  retention = ARGV[6],
  run = ARGV[7],
  prefix = ARGV[8],
  fields = { select(15, unpack(ARGV)) },
}
local p, exists = load(m.record)
local before = exists and p.state or nil
local known = isGone(m, exists)
if known then return { 'gone', known, '' } end
if isStopped(m, p, exists, now) then return { 'stopped', p.state, p.attempt } end
if isExpired(m, p, exists, now) then return { 'done', p.state, p.attempt } end

local slotUs
if p.state == QUEUED then
  -- BullMQ goes by the clock of the worker that put it off and of the one that fetches it.
  local waitMs = redis.call('PTTL', KEYS[8])
  if waitMs > 0 then return { 'message_waits', p.state, math.min(waitMs, m.validUntil - now) } end
  local found = redis.call('MGET', KEYS[5], KEYS[6])
  if found[1] and tonumber(found[1]) > now then return { 'lane_rests', p.state, tonumber(found[1]) - now } end
  if pace then
    slotUs = nextSlot(KEYS[7], nowUs, pace)
    local aheadUs = tonumber(ARGV[14])
    local earlyUs = slotUs - nowUs - aheadUs
    -- More than one slot is let pass, so that it is not asked again for each.
    if earlyUs > 0 then return { 'too_early', p.state, math.ceil((earlyUs + aheadUs / 2) / 1000) } end
  end
  -- Last: a recipient's turn is used up by asking.
  local ms = found[2] and mustRest(KEYS[6], found[2], now)
  -- What cannot go in time comes back when it is over, so that it is told then.
  if ms then return { 'recipient_rests', p.state, math.min(ms, m.validUntil - now) } end
end

local verdict = step(p, { kind = 'claim', attempt = ARGV[2] })
if verdict == 'ignored' then return { verdict, p.state, p.attempt } end

if verdict == 'held' then
  -- Two claims of one job: whoever made the first died with it, or was taken for dead.
  settle(m, p, exists, now, before, 'h', ARGV[2], ARGV[10])
  -- Not before the request of the first attempt can be under way no more: a worker that was frozen or cut off from Redis,
  -- but lives, may yet say what came of it. The last of the ms of ARGV[5] are for writing that down.
  local lostAt = tonumber(redis.call('ZSCORE', m.open, m.ulid) or '0')
  redis.call('ZADD', m.open, math.max(now + tonumber(ARGV[9]), lostAt - SETTLING), m.ulid)
  return { verdict, p.state, p.attempt }
end
if before then redis.call('ZREM', m.queuedAgain, m.ulid) end
settle(m, p, exists, now, before, 'c', ARGV[2])
redis.call('ZADD', m.open, now + tonumber(ARGV[5]), m.ulid)
if not pace then return { verdict, p.state, p.attempt } end
-- The same attempt asks again when the answer was lost: it gets another slot.
slotUs = slotUs or nextSlot(KEYS[7], nowUs, pace)
return { verdict, p.state, p.attempt, reserve(KEYS[7], slotUs, nowUs, pace), string.format('%.0f', nowUs) }
