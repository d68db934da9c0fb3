#!lua flags=allow-oom
-- Ends a message that has no record: one of a campaign whose job was dead-lettered before anybody claimed it; any that was
-- claimed and whose record was lost before it was settled; or any that nobody has claimed, to a person who was erased or has
-- opted out. Writes a record of the outcome, which stops every later claim. Idempotent.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   record       HASH    the message
--   inDoubt      ZSET    messages of the lane in doubt
--   requeueable  ZSET    messages of the lane that can be requeued
--   job          HASH    the message's job in BullMQ
--   places       ZSET    places of campaigns that wait on the lane
--   active       LIST    ids of jobs whose messages are being sent: BullMQ's
-- Arguments:
--   ulid
--   id           of the job
--   why          `dead`, `gone`, `erased` or `opted_out`
--   acceptedAt   ms
--   retentionMs
--   run?         number of its campaign
--   campaigns    what the keys of the lane's campaigns begin with
--   problem      `code|sentence`
--   newFields    {field, value, ...}: further fields of the new record
-- Output: {'done' or 'ignored', state letter}
-- include message-lifecycle
-- include message-events
local outbox, record, inDoubt, requeueable, job, places, active = unpack(KEYS)
local ulid, id, why, acceptedAt, retentionMs, run, campaigns, problem, newFields = unpack(cmsgpack.unpack(ARGV[1]), 1, 9)
local p, exists = load(record)
if exists then return { 'ignored', p.state } end
local before = run and recipientStateOf(campaigns, run, ulid)
local state
if why == 'dead' then
  -- Somebody may have queued it again meanwhile.
  if before or redis.call('HEXISTS', job, JOB.failedReason) == 0 then return { 'ignored', before or QUEUED } end
  state = FAILED
elseif why == 'erased' or why == 'opted_out' then
  if before then return { 'ignored', before } end
  state = CANCELLED
else
  -- Only what was claimed: of a campaign its recipient's state says so, of others that the job is active.
  local wasActive = redis.call('LREM', active, -1, id) > 0
  local isUnsettled = before == QUEUED or before == SENDING or before == UNCONFIRMED
  if not isUnsettled and (before or not wasActive) then
    if wasActive then redis.call('DEL', job) end
    return { 'ignored', before or QUEUED }
  end
  state = UNKNOWN
end
local now = redisNowMs()
-- How many events there were is lost with the record: starting at 1,000 keeps this one from looking older than they.
local history = appendHistory(why == 'gone' and GAP.dropped .. '1000' or '', state, now, acceptedAt, string.match(problem, '^[^|]*'))
local fields = { FIELD.state, state, FIELD.history, history, FIELD.problem, problem }
for i = 1, #newFields do fields[#fields + 1] = newFields[i] end
redis.call('HSET', record, unpack(fields))
p.state, p.repeats = state, repeatsIn(newFields)
noteEvent(p, ulid, history, problem)
writeEvents()
redis.call('PEXPIRE', record, retentionMs)
keepCampaign(campaigns, run, retentionMs)
redis.call('ZREM', inDoubt, ulid)
if run then redis.call('ZREM', places, run .. '/' .. placeOf(ulid)) end
-- A dead letter is kept for people to examine.
if why ~= 'dead' then redis.call('DEL', job) end
if why ~= 'erased' then redis.call('ZADD', requeueable, now, ulid) end
count(campaigns, run, ulid, p.repeats, before, state, nil, problem)
return { 'done', state }
