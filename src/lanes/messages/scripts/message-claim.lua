#!lua
-- Claims messages of a lane, each for one attempt, before its request leaves, and reserves the slot that it leaves in. A
-- message waits as a job, or as a place of its campaign's list; both are claimed alike. Refused when Redis is full, on
-- purpose: what cannot be written down must not be sent. Each message is claimed by itself: a fault of one harms no other.
-- Claiming twice with the same attempt is harmless.
--
-- Keys:
--   outbox            STREAM  events of the lane, if anybody wants them
--   inDoubt           ZSET    messages of the lane in doubt
--   requeueable       ZSET    messages of the lane that can be requeued
--   laneCooldown      STRING  when the cooldown of the lane ends (ms); its probe is a key of its own
--   slots             LIST    latest slots of the lane
--   queuedAgain       ZSET    messages of the lane that were queued again
--   waiting           LIST    ids of jobs of the lane that wait; the next one is the last: BullMQ's
--   prioritized       ZSET    ids of jobs that are taken when nothing waits: BullMQ's
--   delayed           ZSET    ids of jobs and when they are due: BullMQ's
--   active            LIST    ids of jobs whose messages are being sent: BullMQ's
--   places            ZSET    places of campaigns that wait, by their turns
--   turns             ZSET    `now` -> the latest turn that was claimed
--   readers           HASH    worker -> what it has read and not claimed yet
--   deaths            HASH    what is read alone
-- Arguments:
--   lostAfterMs     the sweep takes an attempt for lost after this
--   retentionMs
--   evidenceWaitMs  least time to wait for evidence of another attempt
--   workerLost      the error of a lost attempt, `code|sentence`
--   campaigns       what the keys of the lane's campaigns begin with
--   records         the same of messages, before the ulid
--   jobs            the same of jobs, before their ids
--   ids             what the ids of jobs begin with, before the ulid
--   cooldowns       what the keys of recipients' cooldowns begin with, before the recipient
--   waits           the same of the waits of messages, before the ulid
--   pace?           {gapUs: between slots, closestUs: least gap, window: slots of it, latest: the latest slot that this
--                   worker got, pastUs: time since then that may still be used, aloneUs: for so long nobody else gets a slot then}
--   reader?         worker that has read these messages, and is done with that
--   settleWithinMs  how long an attempt may take to write its end; the last part of lostAfterMs
--   groups          {acceptedAt, validUntil, aheadUs, fields, waitsAs?, run?, sendAt?, fileWaitMs?} of each group: what many
--                   messages of a step have in common, as those of one campaign do
--                     acceptedAt    ms
--                     validUntil    ms
--                     aheadUs       a slot is reserved so far ahead at most
--                     fields        {field, value, ...} of a new record
--                     waitsAs?      `job` or `place`: as what they wait, and they are taken only if they still do; a place also
--                                   only if nobody has claimed it before and it has no job
--                     run?          number of their campaign
--                     sendAt?       ms, of messages that are not to be sent sooner
--                     fileWaitMs?   how long they wait for a file, at least
-- Arguments of each:
--   ulid
--   attempt         id of the attempt
--   group           the number of its group, from 1
--   recipient       as keys name it
--   to              recipient, as the record has it
--   text?           what it says, as the record has it
--   filled?         of a campaign's message, instead: the values filled in
--   place?          of the recipient in the list of its campaign
-- Output: {'claimed', time (µs), marks, slot, ...} when each was claimed and has a slot. The marks: 1 if they are the probe
-- of their lane, 2 if another worker has reserved slots of the lane since this one did, 3 for both. Else of each {verdict,
-- state letter, attempt id on the record}, and of one that is sent with a pace {..., slot, time (µs)}, with marks if there
-- are any; {'error', text} of one that failed.
-- The verdict `stopped`: its campaign does not run, nothing may be sent.
-- {'gone', state letter, ''}: a message of a campaign that was claimed before and whose record is gone. Nothing may
-- be sent, nothing was written; message-finalize-unsent.lua ends it.
-- {'lane_cooldown', 'recipient_cooldown', 'message_waits' or 'too_early', state letter, ms to wait}: nothing may be sent, and
-- nothing was written, except that the job is delayed for so long when only this message waits. `too_early`: its slot would
-- be too far ahead. {'taken', ...}: it does not wait any more, another worker was faster; nothing was written.
-- {'dead', ...}: a place with a job that is a dead letter; nothing was written, message-finalize-unsent.lua ends it.
-- include message-constants
-- include message-history
-- include campaign-changes
-- include message-pace
-- include each-alone
local outbox, inDoubt, requeueable, laneCooldown, slots, queuedAgain, waiting, prioritized, delayed, active, places, turns,
  readers, deaths = unpack(KEYS)
local lostAfterMs, retentionMs, evidenceWaitMs, workerLost, campaigns, records, jobs, ids, cooldowns, waits, pace, reader, settleWithinMs,
  groups = unpack(cmsgpack.unpack(ARGV[1]), 1, 14)
local each = cmsgpack.unpack(ARGV[2])
-- include ../../bullmq/scripts/message-lines

trustedNowMs()
local nowUs = redisNowUs()
local now = math.floor(nowUs / 1000)

-- What all of them need is read at once: cooldowns and waits, existing records and jobs of places, and what waits where.
local asked, known = { laneCooldown, laneCooldown .. SUFFIX.probe }, {}
-- Of jobs and of places: the names under which they wait, and whose they are.
local wanted, wantedAt, placed, placedAt = {}, {}, {}, {}
for i = 1, #each do
  local ulid, attempt, group, recipient, to, text, filled, place = unpack(each[i], 1, 8)
  asked[i + 2] = cooldowns .. recipient
  known[i] = records .. ulid
  -- Given, so that nothing reads it from the id.
  placesOf[ulid] = place
  local ofGroup = groups[group]
  local waitsAs = ofGroup[5]
  if waitsAs == 'job' then
    wanted[#wanted + 1] = ids .. ulid
    wantedAt[wanted[#wanted]] = i
  elseif waitsAs == 'place' then
    -- Lua writes whole numbers of up to fourteen digits as such.
    placed[#placed + 1], placedAt[#placedAt + 1] = ofGroup[6] .. '/' .. place, i
  end
end
for j, i in ipairs(placedAt) do known[#each + j] = jobs .. ids .. each[i][1] end
-- Of each but a place, which has no wait of its own: where in the answer its wait is.
local waitAt = {}
for i = 1, #placed < #each and #each or 0 do
  if groups[each[i][3]][5] ~= 'place' then
    asked[#asked + 1] = waits .. each[i][1]
    waitAt[i] = #asked
  end
end
local found = redis.call('MGET', unpack(asked))
local probe = found[2]
local timeUs = string.format('%d', nowUs)
local lane = pace and openSlots(slots, nowUs, pace, #each)
local areNew = redis.call('EXISTS', unpack(known)) == 0

-- Of each: the score of a prioritized job, true for one in the list, `turn` and `name` of a place; nil: it waits no more.
local standing, names = {}, {}
if #placed > 0 then
  local scores = redis.call('ZMSCORE', places, unpack(placed))
  for j, name in ipairs(placed) do
    standing[placedAt[j]] = scores[j] and tonumber(scores[j]) or nil
    names[placedAt[j]] = name
  end
end
if #wanted > 0 then
  local scores = redis.call('ZMSCORE', prioritized, unpack(wanted))
  local unseen = 0
  for j, id in ipairs(wanted) do
    standing[wantedAt[id]] = scores[j] or nil
    if not scores[j] then unseen = unseen + 1 end
  end
  if unseen > 0 then
    for _, id in ipairs(redis.call('LRANGE', waiting, -#wanted, -1)) do
      local i = wantedAt[id]
      if i and not standing[i] then
        standing[i] = true
        unseen = unseen - 1
      end
    end
    -- Deeper in the list: other workers are reading the jobs before them.
    for _, id in ipairs(wanted) do
      local i = wantedAt[id]
      if unseen > 0 and not standing[i] and redis.call('LPOS', waiting, id, 'RANK', -1) then standing[i] = true end
    end
  end
end

-- Places that leave the lane, and the latest of their turns.
local fromPlaces, latestTurn = {}, 0
local function leavePlace(name, turn)
  fromPlaces[#fromPlaces + 1] = name
  latestTurn = math.max(latestTurn, turn)
end

local function tooEarly(slotUs, aheadUs)
  local earlyUs = slotUs - nowUs - aheadUs
  -- Waits for more than one slot, so that the worker does not come back for each.
  if earlyUs > 0 then return { 'too_early', QUEUED, math.ceil((earlyUs + aheadUs / 2) / 1000) } end
end

-- Writes what all of them have in common.
local function finish(results)
  if lane then lane.write() end
  writeLines()
  if #fromPlaces > 0 then
    redis.call('ZREM', places, unpack(fromPlaces))
    redis.call('ZADD', turns, 'GT', whole(latestTurn), 'now')
  end
  if reader then
    redis.call('HDEL', readers, reader)
    -- What left its line has killed nobody who read it.
    if redis.call('EXISTS', deaths) == 1 then
      for _, left in ipairs({ fromList, fromSet, fromPlaces }) do
        if #left > 0 then redis.call('HDEL', deaths, unpack(left)) end
      end
    end
  end
  return results
end

-- The usual way, of almost all steps. What follows is not even made then: to make all its functions takes as long as several messages.
do
  -- Nothing holds up the lane or a recipient, and nobody has claimed any of them before.
  local function areFresh()
    if not areNew then return false end
    for k = 1, #asked do
      if found[k] then return false end
    end
    for _, group in ipairs(groups) do
      local _, validUntil, _, _, _, run, sendAt, fileWaitMs = unpack(group, 1, 8)
      if now >= validUntil or (sendAt or 0) > now or fileWaitMs then return false end
      if run and redis.call('HGET', campaigns .. run, 'state') ~= 'running' then return false end
    end
    local taken = {}
    for i = 1, #each do
      local ulid, run = each[i][1], groups[each[i][3]][6]
      if not standing[i] or taken[ulid] or run and recipientStateOf(campaigns, run, ulid) then return false end
      taken[ulid] = true
    end
    return true
  end

  -- Of each group the command that writes a record, with what its messages have in common: the key, the attempt, the history, the
  -- recipient and what is written to them are filled in for each.
  local commands, begins = {}, {}
  local KEY_AT, ATTEMPT_AT, HISTORY_AT, TO_AT, WHAT_AT, COMMON = 2, 6, 8, 10, 11, 12
  local function beginCommands()
    for g, group in ipairs(groups) do
      local acceptedAt, fields = group[1], group[4]
      local command = { 'HSET', '', FIELD.state, SENDING, FIELD.attempt, '', FIELD.history, '', FIELD.to, '', '', '' }
      for k = 1, #fields do command[COMMON + k] = fields[k] end
      commands[g], begins[g] = command, HISTORY.claimed .. base36(now - acceptedAt) .. ','
    end
  end

  local doubtful = {}
  local lostAt, keptMs = whole(now + lostAfterMs), whole(retentionMs)
  local marks = lane and lane.isShared and 2 or 0
  -- What is answered when all have a slot, and how many have one.
  local all, withSlot = { 'claimed', timeUs, marks }, 0
  -- The slot of one that may leave, and without a pace true; what else it comes to.
  local function claimOne(i)
    local ulid, attempt, number, _, to, text, filled = unpack(each[i], 1, 7)
    local group = groups[number]
    local slotUs, run = lane and lane.next(), group[6]
    local early = slotUs and tooEarly(slotUs, group[3])
    if early then return early end
    local command, record = commands[number], known[i]
    command[KEY_AT], command[ATTEMPT_AT], command[HISTORY_AT] = record, attempt, begins[number] .. attempt
    command[TO_AT], command[WHAT_AT], command[WHAT_AT + 1] = to, filled and FIELD.filled or FIELD.text, filled or text
    redis.call(unpack(command))
    redis.call('PEXPIRE', record, keptMs)
    if names[i] then leavePlace(names[i], standing[i]) else leaveLine(ids .. ulid, standing[i], true) end
    local n = #doubtful
    doubtful[n + 1], doubtful[n + 2] = lostAt, ulid
    if run then gatherMove(run, ulid, nil, SENDING) end
    if not slotUs then return true end
    withSlot = withSlot + 1
    all[withSlot + 3] = lane.reserve(slotUs)
    return all[withSlot + 3]
  end
  local function claimFresh()
    gathered = {}
    beginCommands()
    local results = eachAlone(#each, claimOne)
    if #doubtful > 0 then redis.call('ZADD', inDoubt, unpack(doubtful)) end
    writeGathered(campaigns)
    if withSlot == #each then return all end
    for i = 1, #each do
      local slot = results[i]
      if type(slot) ~= 'table' then
        results[i] = { 'done', SENDING, each[i][2] }
        if slot ~= true then results[i][4], results[i][5], results[i][6] = slot, timeUs, marks end
      end
    end
    return results
  end

  if areFresh() then return finish(claimFresh()) end
end

-- include message-lifecycle
-- include message-events
-- include message-many
-- include message-unsendable
-- include message-cooldowns
-- include ../../bullmq/scripts/message-jobs
local cooldownMs = cooldownLeft(found[1], probe, now)

-- A message that was sent, or must not be, leaves nothing behind where it waited.
local function endWaiting(m)
  if not m.at then return end
  if m.name then leavePlace(m.name, m.at) else dropJob(m.job, m.id, m.at) end
end
-- Of a place nothing waits yet: it gets a job, and leaves in the same step (lane-add.lua).
local function delayMessage(m, ms)
  if m.at and not m.name then delayJob(m.job, m.id, m.at, now, ms) end
end

-- Messages that this step has checked.
local seen = {}
-- One table, used again for each of them: making a new one for each took a tenth of the step.
local m = {
  queuedAgain = queuedAgain,
  requeueable = requeueable,
  retentionMs = retentionMs,
  campaigns = campaigns,
}
local event = { kind = MOVE.claim }
local function claim(i)
  local ulid, attempt, group, recipient, to, text, filled = unpack(each[i], 1, 7)
  local acceptedAt, validUntil, aheadUs, fields, waitsAs, run, sendAt, fileWaitMs = unpack(groups[group], 1, 8)
  local id, at, name = ids .. ulid, standing[i], names[i]
  local record, job = records .. ulid, jobs .. id
  local p, exists = load(record, areNew and not seen[ulid])
  local isTaken = waitsAs and (not at or seen[ulid])
  if name and at and not isTaken then
    isTaken = exists or recipientStateOf(campaigns, run, ulid)
    local inJob = not areNew and not isTaken and redis.call('HMGET', job, JOB.name, JOB.failedReason)
    if inJob and inJob[2] then return { 'dead', QUEUED, '' } end
    isTaken = isTaken or inJob and inJob[1]
    -- It was fed although it had been claimed, or has a job of its own.
    if isTaken then leavePlace(name, at) end
  end
  -- Unless the same claim is repeated because its reply was lost: then it was this attempt that took it.
  if isTaken and not (exists and p.state == SENDING and p.attempt == attempt) then return { 'taken', QUEUED, '' } end
  seen[ulid] = true
  m.record, m.job, m.id, m.at, m.name = record, job, id, at, name
  m.ulid, m.acceptedAt, m.validUntil, m.run = ulid, acceptedAt, validUntil, run
  m.newFields = { FIELD.to, to, filled and FIELD.filled or FIELD.text, filled or text, unpack(fields) }
  local before = exists and p.state or nil
  local state = not name and isGone(m, exists)
  if state then return { 'gone', state, '' } end
  if isStopped(m, p, exists, now) then
    endWaiting(m)
    return { 'stopped', p.state, p.attempt }
  end
  if isExpired(m, p, exists, now) then
    endWaiting(m)
    return { 'done', p.state, p.attempt }
  end

  local slotUs
  if p.state == QUEUED then
    -- The job may come before the message is due: a person had it tried at once, or it was due by the clock of a lost Redis.
    local waitMs = math.max(found[waitAt[i]] and redis.call('PTTL', waits .. ulid) or 0, (sendAt or 0) - now, fileWaitMs or 0)
    if waitMs > 0 then
      waitMs = math.min(waitMs, validUntil - now)
      delayMessage(m, waitMs)
      return { 'message_waits', p.state, waitMs }
    end
    if cooldownMs > 0 then return { 'lane_cooldown', p.state, cooldownMs } end
    if pace then
      slotUs = lane.next()
      local early = tooEarly(slotUs, aheadUs)
      if early then return early end
    end
    -- Last, because a claim uses up a turn of the recipient. Read again: another message of this step may have used one.
    local text = found[i + 2] and redis.call('GET', cooldowns .. recipient)
    local ms = text and mustWait(cooldowns .. recipient, text, now)
    -- Clamp the delay to the validity: the job is then due when the message expires, and reports it.
    if ms then
      ms = math.min(ms, validUntil - now)
      delayMessage(m, ms)
      return { 'recipient_cooldown', p.state, ms }
    end
  end

  event.attempt = attempt
  local verdict = step(p, event)
  if verdict == 'ignored' then
    endWaiting(m)
    return { verdict, p.state, p.attempt }
  end

  if verdict == 'in_doubt' then
    endWaiting(m)
    -- Two claims of one job: the worker that made the first died with it, or was taken for dead.
    settle(m, p, exists, now, before, HISTORY.heldByAnother, attempt, workerLost)
    -- Not before the request of the first attempt must have ended: its worker may only be frozen or cut off from Redis, and
    -- may yet report the outcome.
    local lostAt = tonumber(scoreOf(inDoubt, ulid) or '0')
    addLater(inDoubt, math.max(now + evidenceWaitMs, lostAt - settleWithinMs), ulid)
    return { verdict, p.state, p.attempt }
  end
  if before then removeLater(queuedAgain, ulid) end
  if name then
    -- A claim that is repeated finds that it has left.
    if at then leavePlace(name, at) end
  elseif at then
    leaveLine(id, at, true)
  end
  settle(m, p, exists, now, before, HISTORY.claimed, attempt)
  addLater(inDoubt, whole(now + lostAfterMs), ulid)
  if not pace then return { verdict, p.state, p.attempt } end
  -- A claim that is repeated because its reply was lost gets another slot.
  slotUs = slotUs or lane.next()
  if not probe then
    return { verdict, p.state, p.attempt, lane.reserve(slotUs), timeUs, lane.isShared and 2 or nil }
  end
  -- If the worker of the probe dies, the next probe goes once this one is taken for lost.
  coolLane(laneCooldown, lostAfterMs, now, string.match(probe, '|(.*)'))
  cooldownMs = PROBE_LOOK_MS
  return { verdict, p.state, p.attempt, lane.reserve(slotUs), timeUs, lane.isShared and 3 or 1 }
end

return finish(forEach(each, campaigns, claim))
