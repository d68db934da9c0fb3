#!lua flags=allow-oom
-- Records how attempts ended, what providers report later, and all other steps of messages of a lane but a claim, a cancel
-- and a requeue, which have scripts of their own. Allowed when Redis is full: what happened to a message must be written
-- down, or a full Redis would turn sent messages into doubled ones. Every step is fenced by the attempt, harmless when
-- repeated, and taken by itself: a fault of one harms no other.
--
-- Keys:
--   outbox       STREAM  events of the lane, if anybody wants them
--   inDoubt      ZSET  messages of the lane in doubt
--   polls        ZSET  messages of the lane to poll
--   requeueable  ZSET  messages of the lane that can be requeued
--   queuedAgain  ZSET  messages of the lane that were queued again
--   waiting      LIST  ids of jobs of the lane that wait; the next one is the last: BullMQ's
--   prioritized  ZSET  ids of jobs that are taken when nothing waits: BullMQ's
--   delayed      ZSET  ids of jobs and when they are due: BullMQ's
--   active       LIST  ids of jobs whose messages are being sent: BullMQ's
-- Arguments:
--   campaigns    what the keys of the lane's campaigns begin with
--   records      the same of messages, before the ulid
--   jobs         the same of jobs, before their ids
--   ids          what the ids of jobs begin with, before the ulid
-- Arguments of each:
--   ulid
--   kind         of step, see src/model/messages/lifecycle.ts
--   acceptedAt   ms
--   attempt?     id of the attempt
--   detail?      for the history
--   problem?     `code|sentence`
--   status?      of `status`: state letter
--   happenedAt?  of `status`: when that was (ms), now if it is not given
--   sentAs?      of `status`: the provider's id of the message
--   firstPollMs? of `status`: until the first status poll; none without it
--   counts?      of `not_sent`: whether the try counts
--   coolDown?    of `not_sent`, and of `status` failed:
--                {key: of the lane or recipient that takes nothing for a while, of: which one, ms: at least}
--   evidenceMs?  of `unconfirmed`: how long to wait for evidence
--   policy?      of `resolve`: never, once or safe
--   maxTries?    of `not_sent` and `resolve`
--   ifDead?      of `give_up`: only if its job is a dead letter
--   retryMs?     of `not_sent`: its job is delayed for so long
--   content?     JSON of its job's payload, kept if the message may be sent again and its record has none
--   cappedUntil? of `status` failed: until when its recipient has had enough marketing (ms)
--   waves?       of a message that failed so, while it is valid: {most: how often it is sent again, keepMs: of its record}
--   isHeldBack?  of `status` sent, by the reply to the attempt: WhatsApp holds it back
--   pricing?     of `status`: its report of the price, see message-pricing.lua
--   word?        of `status` sent, by the reply to the attempt: WhatsApp's word for its state, if it is one we do not know
-- Output: of each {verdict, state letter}; {'missing'} without a record; {'error', text} of one that failed. When the state
-- changed, also {..., state letter before, letter of the class, history before of one that is delivered, ms that a
-- message must wait that is queued again, for its recipient's cooldown or its next wave, or 0, and 1 if WhatsApp held it
-- until now}
-- include message-constants
-- include message-history
-- include campaign-changes
-- include message-events
-- include message-pricing
-- include each-alone
local outbox, inDoubt, polls, requeueable, queuedAgain, waiting, prioritized, delayed, active = unpack(KEYS)
local campaigns, records, jobs, ids = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local each = cmsgpack.unpack(ARGV[2])
local now = redisNowMs()

-- The usual way, of almost all reports: a message that was sent comes further under the attempt that counts, or is reported again. What
-- follows is not even made when all of a step are such: to make all its functions takes as long as several messages.
local results, others, otherAt = {}, {}, {}
do
  local OTHER = {}
  local readUlids = {}
  gathered = {}
  local function report(i)
    local ulid, kind, acceptedAt, attempt, detail, problem, status, happenedAt, sentAs, firstPollMs, counts, coolDown,
      evidenceMs, policy, maxTries, ifDead, retryMs, content, cappedUntil, waves, isHeldBack, pricing, word =
      unpack(each[i], 1, 23)
    if kind ~= 'status' or problem or firstPollMs or content or isHeldBack or word then return OTHER end
    local rank = string.find(PROVEN, status, 1, true)
    local record = records .. ulid
    local f = redis.call('HMGET', record, FIELD.state, FIELD.attempt, FIELD.history, FIELD.run, FIELD.class, FIELD.to, FIELD.payload,
      FIELD.pricing, FIELD.tries, FIELD.repeats, FIELD.problem, FIELD.others, FIELD.cappedUntil, FIELD.heldSince, FIELD.messageStatus)
    local state, payload = f[1], f[7]
    local rankBefore = state and string.find(PROVEN, state, 1, true)
    -- Of an erased recipient, which is an empty one, less is kept.
    if not rank or not rankBefore or f[2] ~= attempt or f[6] == '' then return OTHER end
    for k = 9, 15 do if f[k] then return OTHER end end
    local priced = pricing and isPricedLater(pricing, f[8]) and pricing
    if rank <= rankBefore then
      if sentAs then redis.call('HSET', record, FIELD.providerId, sentAs) end
      if priced then redis.call('HSET', record, FIELD.pricing, priced) end
      return { 'ignored', state }
    end
    -- Of a long value more is left behind than the field.
    if payload and #payload > 1024 then return OTHER end
    local run = tonumber(f[4] or nil)
    local history = appendHistory(f[3], status, happenedAt and math.min(happenedAt, now) or now, acceptedAt)
    local set = { FIELD.state, status, FIELD.history, history }
    if sentAs then set[5], set[6] = FIELD.providerId, sentAs end
    if priced then set[#set + 1], set[#set + 2] = FIELD.pricing, priced end
    redis.call('HSET', record, unpack(set))
    if payload then redis.call('HDEL', record, FIELD.payload) end
    if hasListeners() then noteEvent({ state = status, repeats = 0 }, ulid, history) end
    if run then gatherMove(run, ulid, state, status) end
    if status == READ then readUlids[#readUlids + 1] = ulid end
    return { 'done', status, state, f[5] or '', f[3] }
  end

  local isOther = {}
  for i = 1, #each do
    local ulid = each[i][1]
    -- Steps of one message are taken in their order.
    results[i] = isOther[ulid] and OTHER or resultOf(report, i)
    if results[i] == OTHER then
      isOther[ulid] = true
      others[#others + 1], otherAt[#otherAt + 1] = each[i], i
    end
  end
  writeEvents()
  if #readUlids > 0 then redis.call('ZREM', polls, unpack(readUlids)) end
  writeGathered(campaigns)
end
if #others == 0 then return results end
each = others

-- include message-lifecycle
-- include message-many
-- include message-cooldowns
-- include ../../bullmq/scripts/message-jobs

-- What a step writes to the record, and the fields that it takes off it.
-- Tables that are used again for each message: `wide` and `off` say how much of them is this message's.
local set, wide, gone, off = {}, 0, {}, 0
local function write(field, value)
  set[wide + 1], set[wide + 2] = field, value
  wide = wide + 2
end
local function drop(known, field)
  if not known then return end
  off = off + 1
  gone[off] = field
end
local event = {}

-- The number of a message's next wave; nil after the last one.
local function waveOf(record, most)
  local wave = tonumber(redis.call('HGET', record, FIELD.waves) or '0') + 1
  return wave <= most and wave or nil
end

local function take(i)
  local ulid, kind, acceptedAt, attempt, detail, problem, status, happenedAt, sentAs, firstPollMs, counts, coolDown,
    evidenceMs, policy, maxTries, ifDead, retryMs, content, cappedUntil, waves, isHeldBack, pricing, word =
    unpack(each[i], 1, 23)
  local record, id = records .. ulid, ids .. ulid
  local job = jobs .. id
  -- No report can be of a time later than now.
  local at = happenedAt and math.min(happenedAt, now) or now
  local p, exists = load(record)
  if not exists then return { 'missing' } end
  -- Somebody may have given it another job meanwhile.
  if ifDead and redis.call('HEXISTS', job, JOB.failedReason) == 0 then return { 'ignored', p.state } end
  local before, counting = p.state, p.attempt
  event.kind, event.attempt, event.status = kind, attempt, status
  event.counts, event.policy, event.maxTries = counts, policy, maxTries
  local verdict = step(p, event, now >= p.validUntil)
  -- Keep the provider's id of the attempt that counts even when the step changes nothing, as when a webhook overtook the
  -- reply.
  local providerId = p.attempt == attempt and not p.isErased and sentAs
  -- Of whichever attempt, and also of a status that brings nothing else new.
  local priced = pricing and isPricedLater(pricing, p.has.pricing) and pricing
  if priced and p.isErased then priced = withoutExtras(priced) end
  if verdict == 'ignored' then
    -- Without an entry in the history. Never of a message in its first attempt, which message-sent.lua relies on.
    if providerId then redis.call('HSET', record, FIELD.providerId, providerId) end
    if providerId and word then redis.call('HSET', record, FIELD.messageStatus, word) end
    if priced then redis.call('HSET', record, FIELD.pricing, priced) end
    -- The reply that reported the hold has made it `sent` already.
    local isReleased = p.has.heldSince and status == SENT and attempt == p.attempt and not isHeldBack
    if not isReleased then return { verdict, p.state } end
    redis.call('HDEL', record, FIELD.heldSince)
    countAside(campaigns, p.run, ASIDE.held, true, false)
    return { verdict, p.state, p.state, p.class, '', 0, 1 }
  end

  -- Proof about another attempt than the one that counts, or against that one while another is known to be sent: the state
  -- stays, and with it all lists.
  if kind == 'status' and p.state == before then
    local history = appendHistory(p.history, status, at, acceptedAt, detail)
    redis.call('HSET', record, FIELD.attempt, p.attempt, FIELD.others, p.others, FIELD.history, history)
    if priced then redis.call('HSET', record, FIELD.pricing, priced) end
    if p.attempt == counting then return { verdict, p.state } end
    -- These belong to the attempt that has failed.
    redis.call('HDEL', record, FIELD.providerId, FIELD.heldSince, FIELD.messageStatus)
    if not p.has.heldSince then return { verdict, p.state } end
    countAside(campaigns, p.run, ASIDE.held, true, false)
    return { verdict, p.state, p.state, p.class, '', 0, 1 }
  end

  wide, off = 0, 0
  local rank, rankBefore = rankOf(p.state), rankOf(before)
  local letter = p.state
  if kind == MOVE.not_sent then letter = p.state == FAILED and FAILED or HISTORY.unsent end
  write(FIELD.state, p.state)
  if p.attempt ~= counting then write(FIELD.attempt, p.attempt) end
  local history = appendHistory(p.history, letter, at, acceptedAt, detail)
  -- The failure and the next wave are one step: no kill comes between, and a campaign is not over while one is to come.
  local wave = waves and p.state == FAILED and cappedUntil < p.validUntil and waveOf(record, waves.most)
  if wave then
    step(p, { kind = MOVE.requeue })
    history, problem = appendHistory(history, p.state, now, acceptedAt, 'wave'), nil
    write(FIELD.state, p.state)
    write(FIELD.waves, wave)
    redis.call('PEXPIRE', record, waves.keepMs, 'GT')
  end
  write(FIELD.history, history)
  if providerId then write(FIELD.providerId, providerId) end
  if priced then write(FIELD.pricing, priced) end
  if providerId and word then write(FIELD.messageStatus, word) elseif not rank then drop(p.has.messageStatus, FIELD.messageStatus) end
  if p.tries > 0 then write(FIELD.tries, p.tries) else drop(p.has.tries, FIELD.tries) end
  if p.repeats > 0 then write(FIELD.repeats, p.repeats) end
  if p.others ~= '' then write(FIELD.others, p.others) else drop(p.has.others, FIELD.others) end
  local nowProblem = problem or p.has.problem
  if problem then
    write(FIELD.problem, problem)
  elseif rank or p.state == QUEUED then
    nowProblem = nil
    drop(p.has.problem, FIELD.problem)
  end

  local isCapped, isHeld = p.state == FAILED and cappedUntil ~= nil, p.state == SENT and isHeldBack
  if isCapped then write(FIELD.cappedUntil, cappedUntil) else drop(p.has.cappedUntil, FIELD.cappedUntil) end
  if isHeld then write(FIELD.heldSince, string.format('%.0f', now)) else drop(p.has.heldSince, FIELD.heldSince) end
  if p.run and (p.has.cappedUntil or isCapped) then
    local was = p.has.cappedUntil and countedAs(campaigns, p.run, ulid, before, p.repeats) == FAILED or false
    countAside(campaigns, p.run, ASIDE.capped, was, isCapped and shownState(p.state, p.repeats) == FAILED)
  end
  countAside(campaigns, p.run, ASIDE.held, p.has.heldSince and true or false, isHeld or false)

  -- The content is needed for another try and lives in the job, which goes away once it is done. What is only `sent` can
  -- still fail, and is sent again by hand then; of a campaign's message the content can be made once more.
  local contentNow = p.has.payload
  if p.state == DELIVERED or p.state == READ or (p.state == SENT and p.run) then
    drop(p.has.payload, FIELD.payload)
  elseif not p.has.payload and not p.isErased then
    local data = redis.call('HGET', job, JOB.data) or content
    if data then write(FIELD.payload, data) end
  end
  redis.call('HSET', record, unpack(set, 1, wide))
  noteEvent(p, ulid, history, problem)
  if off > 0 then redis.call('HDEL', record, unpack(gone, 1, off)) end
  -- Redis never takes a hash back to its compact encoding once it has held a long value: the record is written anew.
  if rank and p.state ~= SENT and contentNow and #contentNow > 1024 then
    local all, ttl = redis.call('HGETALL', record), redis.call('PTTL', record)
    redis.call('DEL', record)
    redis.call('HSET', record, unpack(all))
    if ttl > 0 then redis.call('PEXPIRE', record, ttl) end
  end
  count(campaigns, p.run, ulid, p.repeats, before, p.state, p.has.problem, nowProblem)

  -- Two lists, so that attempts in doubt never wait behind a hundred thousand messages that only need a job.
  if p.state == UNCONFIRMED then
    addLater(inDoubt, now + (evidenceMs or 0), ulid)
  else
    removeLater(inDoubt, ulid)
  end
  if p.state == QUEUED then
    -- Its job may be gone: the sweep makes sure that there is one. Of a wave, not before its time.
    addLater(queuedAgain, wave and cappedUntil or kind == MOVE.not_sent and now + 60000 or now, ulid)
  elseif before == QUEUED then
    removeLater(queuedAgain, ulid)
  end

  -- Only what was sent is polled, and only what can be requeued is listed as such: nothing else need be taken off.
  if rank and p.state ~= READ then
    if firstPollMs and not rankBefore then addLater(polls, now + firstPollMs, ulid) end
  elseif rankBefore then
    removeLater(polls, ulid)
  end
  if isRequeueable(p.state) then
    addLater(requeueable, now, ulid)
  elseif isRequeueable(before) then
    removeLater(requeueable, ulid)
  end

  local waitMs = wave and math.max(1, cappedUntil - now) or nil
  if coolDown and coolDown.of == 'lane' then
    coolLane(coolDown.key, coolDown.ms, now, problem)
  elseif coolDown then
    local ms = coolRecipient(coolDown.key, coolDown.ms, now)
    -- One that failed does not wait for it.
    if kind == MOVE.not_sent then waitMs = ms end
  end
  if before == SENDING and p.state ~= SENDING then
    endSending(job, id, now, p.state == QUEUED and (waitMs or retryMs or 0) or nil)
  end
  local isDelivered = p.state == DELIVERED or p.state == READ
  local wasHeld = p.has.heldSince and not isHeld
  -- Almost all were simply sent: their answer is short.
  if not wasHeld then return { verdict, p.state, before, p.class, isDelivered and p.history or '', waitMs } end
  return { verdict, p.state, before, p.class, isDelivered and p.history or '', waitMs or 0, 1 }
end

for k, result in ipairs(forEach(each, campaigns, take)) do results[otherAt[k]] = result end
writeEnded()
return results
