-- The life of a message in Redis. Included by every script that changes a message in more than the usual way. The rules, such as how
-- many tries a message has and when a repeat is flagged, are in step(); tests compare it with a reference model
-- (test/model/message-lifecycle.ts), step by step over thousands of lives.
-- include message-constants
-- include message-history
-- include campaign-changes

-- How far a message is proven to have come: 1 sent, 2 delivered, 3 read; nil for one that is not proven sent.
local function rankOf(state)
  return (string.find(PROVEN, state, 1, true))
end

-- The state that lookups show and campaigns count: shownState of src/model/messages/lifecycle.ts.
local function shownState(state, repeats)
  return repeats > 0 and string.find(UNSENT, state, 1, true) and UNKNOWN or state
end

-- Whether a person may have a message in this state tried again.
local REQUEUEABLE = (moveOf(MOVE.requeue))
local function isRequeueable(state)
  return string.find(REQUEUEABLE, state, 1, true) and true or false
end

-- What is known of attempts besides the one that counts: `sAAAAAA,fBBBBBB`.
local function without(others, attempt)
  local kept = {}
  for entry in string.gmatch(others, '[^,]+') do
    if string.sub(entry, 2) ~= attempt then kept[#kept + 1] = entry end
  end
  return table.concat(kept, ',')
end

local function remember(others, attempt, letter)
  local rest = without(others, attempt)
  return (rest == '' and '' or rest .. ',') .. letter .. attempt
end

local function statusOf(p, attempt)
  if attempt == p.attempt and (p.state == SENT or p.state == FAILED) then return p.state end
  if p.others == '' then return nil end
  for entry in string.gmatch(p.others, '[^,]+') do
    if string.sub(entry, 2) == attempt then return string.sub(entry, 1, 1) end
  end
end

local function firstSent(others)
  for entry in string.gmatch(others, '[^,]+') do
    if string.sub(entry, 1, 1) == SENT then return string.sub(entry, 2) end
  end
end

-- Applies proof about an attempt; returns whether it changed anything. It may come at any time, in any order, any number of
-- times, and only moves a message forward: `failed` never overrides `delivered` or `read`, and proof that it went out
-- corrects every state that had assumed otherwise. A message that was repeated in doubt may have gone out under two
-- attempts: it is `sent` as long as one of them is known to be sent and not to have failed.
local function applyStatus(p, attempt, status)
  local rank = rankOf(p.state) or 0
  if status == DELIVERED or status == READ then
    if rankOf(status) <= rank then return false end
    p.state, p.attempt, p.others = status, attempt, ''
    return true
  end
  if rank > 1 then return false end
  local known = statusOf(p, attempt)
  if status == SENT then
    if known then return false end
    if p.state == SENT then
      p.others = remember(p.others, attempt, SENT)
    else
      if p.state == FAILED and attempt ~= p.attempt then p.others = remember(p.others, p.attempt, FAILED) end
      p.state, p.attempt = SENT, attempt
    end
    return true
  end
  if known == FAILED then return false end
  if attempt ~= p.attempt then
    p.others = remember(p.others, attempt, FAILED)
    return true
  end
  if p.state == FAILED or p.state == EXPIRED or p.state == CANCELLED then return false end
  local fallback = firstSent(p.others)
  if fallback then
    p.others = remember(without(p.others, fallback), attempt, FAILED)
    p.state, p.attempt = SENT, fallback
  else
    p.state = FAILED
  end
  return true
end

-- Takes one step: changes p {state, attempt, tries, repeats, others} and returns 'done', 'ignored' or 'in_doubt'.
-- isExpired: the validity of the message is over.
local function step(p, e, isExpired)
  local kind, s = e.kind, p.state
  -- A status may come in every state: applyStatus orders them.
  if kind == 'status' then return applyStatus(p, e.attempt, e.status) and 'done' or 'ignored' end
  local from, to, orElse = moveOf(kind)
  if not string.find(from, s, 1, true) then return 'ignored' end
  if kind == MOVE.claim then
    if s == SENDING then
      if p.attempt == e.attempt then return 'done' end
      p.state = UNCONFIRMED
      return 'in_doubt'
    end
    if isExpired then to = orElse else p.attempt = e.attempt end
  elseif kind == MOVE.not_sent then
    if p.attempt ~= e.attempt then return 'ignored' end
    if e.counts then
      p.tries = p.tries + 1
      if p.tries >= e.maxTries then to = orElse end
    end
  elseif kind == MOVE.unconfirmed then
    if p.attempt ~= e.attempt then return 'ignored' end
  elseif kind == MOVE.resolve then
    if p.attempt ~= e.attempt then return 'ignored' end
    if isExpired or e.policy == 'never' then
      to = orElse
    elseif e.policy == 'once' then
      if p.repeats > 0 then to = orElse else p.repeats = p.repeats + 1 end
    else
      p.tries = p.tries + 1
      if p.tries >= e.maxTries then to = orElse end
    end
  elseif kind == MOVE.requeue then
    if s == UNKNOWN then p.repeats = p.repeats + 1 end
    if s == FAILED then p.others = remember(p.others, p.attempt, FAILED) end
    p.tries = 0
  end
  p.state = to
  return 'done'
end

-- A new record has none of the fields that a step may drop.
local NOTHING = {}

-- Reads the record at a key: p, with all else that a step needs of it, and whether there is one. A step reads once and
-- writes once: every further call costs about 1 µs, and every write is one more command in the append-only file.
-- `isMissing`: the caller knows that there is none.
local function load(key, isMissing)
  if isMissing then
    return {
      state = QUEUED, attempt = '', tries = 0, repeats = 0, history = '', validUntil = 0, others = '', class = '', has = NOTHING,
    }, false
  end
  local f = redis.call('HMGET', key, FIELD.state, FIELD.attempt, FIELD.tries, FIELD.repeats, FIELD.history,
    FIELD.validUntil, FIELD.run, FIELD.problem, FIELD.payload, FIELD.others, FIELD.class, FIELD.to, FIELD.cappedUntil,
    FIELD.heldSince, FIELD.pricing, FIELD.messageStatus)
  return {
    state = f[1] or QUEUED,
    attempt = f[2] or '',
    tries = tonumber(f[3] or '0'),
    repeats = tonumber(f[4] or '0'),
    history = f[5] or '',
    validUntil = tonumber(f[6] or '0'),
    run = f[7] or nil,
    others = f[10] or '',
    class = f[11] or '',
    -- Nothing that identifies the recipient may be written any more (src/lanes/archive/scripts/message-erase.lua).
    isErased = f[12] == '',
    -- Which of the fields that a step may drop are there.
    has = {
      tries = f[3], problem = f[8], payload = f[9], others = f[10], cappedUntil = f[13], heldSince = f[14],
      pricing = f[15], messageStatus = f[16],
    },
  }, f[1] and true or false
end

-- The repeats of a record that is about to be written, from its {field, value, ...}: a campaign may send a second time to
-- people who may have got the first message.
local function repeatsIn(newFields)
  for i = 1, #newFields, 2 do
    if newFields[i] == FIELD.repeats then return tonumber(newFields[i + 1]) end
  end
  return 0
end

-- The state that the campaign counts a message in which is in this one. A message that ended before campaigns counted the shown
-- state is counted as it was stored; which of the two is kept for its recipient.
local function countedAs(prefix, run, ulid, state, repeats)
  local shown = shownState(state, repeats)
  return shown ~= state and recipientStateOf(prefix, run, ulid) == state and state or shown
end

-- Whether the circuit breaker leaves out a message that is in this state, counted as that one, with this error (`code|sentence`).
local function isExempt(state, counted, problem)
  -- It counts as unknown, and has expired or was cancelled, which says nothing about the campaign.
  if counted ~= state and not exemptCodesOf(state) then return exemptCodesOf(counted) ~= nil end
  local codes = problem and exemptCodesOf(state)
  return codes and string.find(codes, '|' .. string.match(problem, '^[^|]*') .. '|', 1, true) ~= nil or false
end

-- Counts a message's change of state for its campaign, in the same step as the change itself, so that the counts are
-- true at every moment, and keeps the recipient's state; both as lookups show it. `run` is the campaign's number; nil for a
-- message of none. `from` nil: it is new. `repeats`: after the step, which repeats nothing that it counts from as unsent.
-- `hadProblem`, `problem`: its error before and now. Besides the states, ASIDE.exempt counts those for which isExempt holds.
local function count(prefix, run, ulid, repeats, from, to, hadProblem, problem)
  if not run or from == to then return end
  -- A record has the number as text, an argument as a number.
  run = tonumber(run)
  local wasExempt, nowExempt = false, isExempt(to, shownState(to, repeats), problem)
  if from then
    local counted = countedAs(prefix, run, ulid, from, repeats)
    wasExempt = isExempt(from, counted, hadProblem)
    from = counted
  end
  to = shownState(to, repeats)
  local changes = gathered and gathered[run] or { counts = {}, states = {} }
  local counts, states = changes.counts, changes.states
  if wasExempt ~= nowExempt then counts[ASIDE.exempt] = (counts[ASIDE.exempt] or 0) + (nowExempt and 1 or -1) end
  if from then counts[from] = (counts[from] or 0) - 1 end
  counts[to] = (counts[to] or 0) + 1
  states[#states + 1] = placeOf(ulid)
  states[#states + 1] = string.find(ORDER, to, 1, true)
  if gathered then gathered[run] = changes else writeChanges(prefix, run, changes) end
end

-- Besides the states, a campaign counts how many of those counted as failed have had enough marketing (ASIDE.capped) and how many of
-- the sent WhatsApp holds (ASIDE.held), in the step that changes the record.
local function countAside(prefix, run, what, was, now)
  if not run or was == now then return end
  run = tonumber(run)
  local changes = gathered and gathered[run] or { counts = {}, states = {} }
  changes.counts[what] = (changes.counts[what] or 0) + (now and 1 or -1)
  if gathered then gathered[run] = changes else writeChanges(prefix, run, changes) end
end

-- Keeps an ended campaign at least as long as the record of any of its messages. An active one does not expire, and is left
-- so.
local function keepCampaign(prefix, run, ms)
  if not run or ms <= 0 then return end
  for _, suffix in ipairs({ '', SUFFIX.counts, SUFFIX.states }) do
    redis.call('PEXPIRE', prefix .. run .. suffix, ms, 'GT')
  end
end

