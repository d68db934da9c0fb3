#!lua flags=allow-oom
-- Records that the provider took messages of a lane. Fast path for messages whose record is still exactly as claimed (almost all). It does
-- what the step `status` sent of message-step.lua does, and is short because Redis makes all functions of a script anew at each run, which
-- takes as long as several messages. Allowed when Redis is full, fenced by the attempt, and harmless when repeated.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   inDoubt      ZSET  messages of the lane in doubt
--   polls        ZSET  messages of the lane to poll
--   active       LIST  ids of jobs whose messages are being sent: BullMQ's
-- Arguments:
--   campaigns    what the keys of the lane's campaigns begin with
--   records      the same of messages, before the ulid
--   jobs         the same of jobs, before their ids
--   ids          what the ids of jobs begin with, before the ulid
-- Arguments of each:
--   ulid
--   acceptedAt   ms
--   attempt      id of the attempt
--   sentAs       the provider's id of the message
--   hasJob       whether it waited as a job, which goes now; one that waited as a place has none
--   firstPollMs? until the first status poll; none without it
--   run?         number of its campaign
--   place?       of the recipient in the list of its campaign
-- Output: {'sent'} when each was sent; else of each {'sent'}; {'other'} of one of which more is known: nothing was written,
-- message-step.lua takes its step; {'error', text} of one that failed
-- include message-constants
-- include message-history
-- include campaign-changes
-- include message-events
-- include each-alone
local outbox, inDoubt, polls, active = unpack(KEYS)
local campaigns, records, jobs, ids = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local each = cmsgpack.unpack(ARGV[2])
local now = redisNowMs()

local WAS_SENT, OTHER = { 'sent' }, { 'other' }
local settled, toPoll, ended, endedIds = {}, {}, {}, {}
gathered = {}

local function take(i)
  local ulid, acceptedAt, attempt, sentAs, hasJob, firstPollMs, run, place = unpack(each[i], 1, 8)
  placesOf[ulid] = place
  local record = records .. ulid
  local f = redis.call('HMGET', record, FIELD.state, FIELD.attempt, FIELD.history, FIELD.to, FIELD.repeats)
  -- An erased recipient is an empty one: the provider's id identifies them, and is not kept. Whatever else a record may have, its
  -- history says how it came about; only a possible duplicate is one from its first claim on.
  if f[1] ~= SENDING or f[2] ~= attempt or f[4] == '' or f[5] or string.find(f[3], '|', 1, true) then return OTHER end
  local history = appendHistory(f[3], SENT, now, acceptedAt)
  -- Of a message that may still fail, and be sent again by hand, the content is kept: that of a campaign's can be made once more.
  local content = not run and redis.call('HGET', jobs .. ids .. ulid, JOB.data)
  if content then
    redis.call('HSET', record, FIELD.state, SENT, FIELD.history, history, FIELD.providerId, sentAs, FIELD.payload, content)
  else
    redis.call('HSET', record, FIELD.state, SENT, FIELD.history, history, FIELD.providerId, sentAs)
  end
  if hasListeners() then noteEvent({ state = SENT, repeats = 0 }, ulid, history) end
  if run then gatherMove(run, ulid, SENDING, SENT) end
  settled[#settled + 1] = ulid
  if firstPollMs then
    toPoll[#toPoll + 1] = whole(now + firstPollMs)
    toPoll[#toPoll + 1] = ulid
  end
  if hasJob then ended[#ended + 1], endedIds[#endedIds + 1] = jobs .. ids .. ulid, ids .. ulid end
  return WAS_SENT
end

local results = eachAlone(#each, take)
if #settled == 0 then return results end
writeEvents()
redis.call('ZREM', inDoubt, unpack(settled))
if #toPoll > 0 then redis.call('ZADD', polls, unpack(toPoll)) end
writeGathered(campaigns)
if #ended > 0 and redis.call('DEL', unpack(ended)) > 0 then
  for _, id in ipairs(endedIds) do redis.call('LREM', active, -1, id) end
end
return #settled == #each and WAS_SENT or results
