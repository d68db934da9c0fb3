#!lua
-- Clears a lane of waiting jobs that must not be sent: their validity is over, or their campaign does not run. Judges each
-- of a page again, here, and writes exactly what the claim of it would have written (message-unsendable.lua), so that
-- running it twice, or beside claims, or dying after any page is harmless. Refused when Redis is full, like a claim.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   waiting      LIST, the next one last, or ZSET: waiting or prioritized jobs, BullMQ's
--   requeueable  ZSET    messages of the lane that can be requeued
--   clearedBy    STRING  who clears this list: two at once would only search for what the other has removed
--   queuedAgain  ZSET    messages of the lane that were queued again
-- Arguments:
--   by           who asks
--   retentionMs
--   campaigns    what the keys of the lane's campaigns begin with
--   records      what the keys of records begin with
--   jobs         what the keys of jobs begin with
--   messages     of each {jobId, ulid, acceptedAt: ms, validUntil: ms, run?, newFields: {field, value, ...} of a new record}
-- Output: {expired, stopped}; {-1, 0} when somebody else clears this list
-- include ../messages/scripts/message-lifecycle
-- include ../messages/scripts/message-events
-- include ../messages/scripts/message-unsendable
local outbox, waiting, requeueable, clearedBy, queuedAgain = unpack(KEYS)
local by, retentionMs, campaigns, records, jobs, messages = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local now = trustedNowMs()
local SOLE_MS = 1000
local sole = redis.call('GET', clearedBy)
if sole and sole ~= by then return { -1, 0 } end
redis.call('SET', clearedBy, by, 'PX', SOLE_MS)

local isList = redis.call('TYPE', waiting).ok == 'list'
local expired, stopped = 0, 0
gathered = {}
for _, m in ipairs(messages) do
  m.retentionMs, m.campaigns, m.queuedAgain, m.requeueable = retentionMs, campaigns, queuedAgain, requeueable
  m.record, m.job = records .. m.ulid, jobs .. m.jobId
  local p, exists = load(m.record)
  -- The claim of a message ends it if its record is gone.
  local ended = not isGone(m, exists)
    and (isStopped(m, p, exists, now) and 'stopped' or isExpired(m, p, exists, now) and 'expired'
      -- Its campaign was cancelled, and the message with it; its job is all that is left.
      or p.state == CANCELLED and 'stopped')
  if ended == 'stopped' then stopped = stopped + 1 end
  if ended == 'expired' then expired = expired + 1 end
  if ended then
    -- A job that a worker has read meanwhile is left to that worker: its claim finds what is written here.
    local taken
    if isList then
      taken = redis.call('LREM', waiting, 1, m.jobId)
    else
      taken = redis.call('ZREM', waiting, m.jobId)
    end
    if taken == 1 then redis.call('DEL', m.job) end
  end
end
writeEvents()
for run, changes in pairs(gathered) do writeChanges(campaigns, run, changes) end
return { expired, stopped }
