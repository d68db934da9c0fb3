#!lua flags=allow-oom
-- Cancels a message that waits, or ends it as expired. Until it is claimed its job is its record, so that a record is written
-- here: whatever becomes of the job then, a claim finds that the message has ended. Running it twice changes nothing the second
-- time.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   record       HASH  the message
--   inDoubt      ZSET  messages of the lane in doubt
--   requeueable  ZSET  messages of the lane that can be requeued
--   job          HASH  the message's job in BullMQ
--   queuedAgain  ZSET  messages of the lane that were queued again
--   active       LIST  ids of jobs whose messages are being sent: BullMQ's
-- Arguments:
--   ulid
--   id           of the job
--   acceptedAt   ms
--   retentionMs
--   campaigns    what the keys of the lane's campaigns begin with
--   jobsRun?     number of its campaign, as its job has it
--   validUntil?  ms, as its job has it
--   newFields    {field, value, ...}: fields of its record, for a message without one
--   why          detail for its history
--   problem?     `code|sentence`
--   expires?     it ends as expired, and only if its validity is over; it is not cancelled then
-- Output: {verdict, state letter}: `done`, or `ignored` and the state that forbids it; {'missing'}
-- include ../messages/scripts/message-lifecycle
-- include ../messages/scripts/message-events
local outbox, record, inDoubt, requeueable, job, queuedAgain, active = unpack(KEYS)
local ulid, id, acceptedAt, retentionMs, campaigns, jobsRun, validUntil, newFields, why,
  problem, expires = unpack(cmsgpack.unpack(ARGV[1]), 1, 11)
local now = redisNowMs()
local p, exists = load(record)
local before = exists and p.state or nil
local run = jobsRun or p.run
local data
if not exists then
  -- It was claimed before, and its record is gone.
  local known = run and recipientStateOf(campaigns, run, ulid)
  if known then return { 'ignored', known } end
  -- The same of one whose job says so: it may have been sent (lane-mend.lua).
  if redis.call('LPOS', active, id, 'RANK', -1) then return { 'ignored', SENDING } end
  local found = redis.call('HMGET', job, JOB.data, JOB.failedReason)
  if not found[1] then return { 'missing' } end
  if found[2] then return { 'ignored', FAILED } end
  data, p.validUntil, p.repeats = found[1], validUntil or 0, repeatsIn(newFields)
end
local isOver = p.state == QUEUED and now >= p.validUntil
if expires then
  if not isOver then return { 'ignored', p.state } end
  step(p, { kind = MOVE.claim }, true)
else
  if isOver then return { 'ignored', EXPIRED } end
  if step(p, { kind = MOVE.cancel }) == 'ignored' then return { 'ignored', p.state } end
end

local history = appendHistory(p.history, p.state, now, acceptedAt, why)
local fields = { FIELD.state, p.state, FIELD.history, history }
if not exists then
  for i = 1, #newFields do fields[#fields + 1] = newFields[i] end
  fields[#fields + 1] = FIELD.payload
  fields[#fields + 1] = data
end
if problem then
  fields[#fields + 1] = FIELD.problem
  fields[#fields + 1] = problem
end
redis.call('HSET', record, unpack(fields))
noteEvent(p, ulid, history, problem)
writeEvents()
redis.call('PEXPIRE', record, retentionMs)
redis.call('ZREM', inDoubt, ulid)
redis.call('ZREM', queuedAgain, ulid)
redis.call('ZADD', requeueable, now, ulid)

keepCampaign(campaigns, run, retentionMs)
count(campaigns, run, ulid, p.repeats, before, p.state)
return { 'done', p.state }
