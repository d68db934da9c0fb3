-- Messages that wait but must not be sent: their campaign does not run, or their validity is over. Included after
-- message-lifecycle.lua and message-events.lua by message-claim.lua, for one message at a time, and by lane-clear.lua,
-- which clears a lane.
--
-- m = a message, apart from its record p: its keys record, queuedAgain, requeueable and job; from its job ulid, acceptedAt
-- (ms), validUntil (ms), run (nil: of no campaign) and newFields {field, value, ...} of a record; and for the whole lane
-- retentionMs, and campaigns, the prefix of their keys.

-- Fields and values of one record; used again for each message.
local fields = {}

-- Writes the outcome of a step for a message that was queued, or had no record yet.
local function settle(m, p, exists, now, before, happened, detail, problem)
  local history = appendHistory(p.history, happened, now, m.acceptedAt, detail)
  fields[1], fields[2], fields[3], fields[4] = FIELD.state, p.state, FIELD.attempt, p.attempt
  fields[5], fields[6] = FIELD.history, history
  local size = 6
  if not exists then
    local more = m.newFields
    size = 6 + #more
    for i = 1, #more do fields[6 + i] = more[i] end
  end
  if problem then
    fields[size + 1], fields[size + 2] = FIELD.problem, problem
    size = size + 2
  end
  if p.state ~= SENDING then
    -- The content is needed should it be sent again, and lives in the job, which goes away now.
    local data = redis.call('HGET', m.job, JOB.data)
    if data then
      fields[size + 1], fields[size + 2] = FIELD.payload, data
      size = size + 2
    end
  end
  redis.call('HSET', m.record, unpack(fields, 1, size))
  noteEvent(p, m.ulid, history, problem)
  -- From the latest claim on: a record that expired while its message is tried again would take the marker of the attempt
  -- and the flag of a repeat with it.
  redis.call('PEXPIRE', m.record, whole(m.retentionMs))
  if exists then keepCampaign(m.campaigns, m.run, m.retentionMs) end
  count(m.campaigns, m.run, m.ulid, p.repeats, before, p.state, nil, problem)
end

-- The letter of the state that the campaign keeps of a message that was claimed before and whose record is gone; else nil.
local function isGone(m, exists)
  return m.run and not exists and recipientStateOf(m.campaigns, m.run, m.ulid) or nil
end

-- The state of a campaign, kept for the step: no step of messages changes it.
local statesOfCampaigns = {}
local function stateOfCampaign(key)
  local known = statesOfCampaigns[key]
  if known == nil then
    known = redis.call('HGET', key, 'state')
    statesOfCampaigns[key] = known
  end
  return known
end

-- Whether its campaign keeps it from being sent. What was never claimed leaves no trace, so that a resumed campaign can
-- queue it again.
local function isStopped(m, p, exists, now)
  if not m.run or p.state ~= QUEUED then return false end
  local campaign = stateOfCampaign(m.campaigns .. m.run)
  -- A campaign that is done may have requeued messages.
  if campaign == 'running' or (campaign == 'done' and exists) then return false end
  -- A campaign that is not kept any more had ended: none of its waiting messages is sent.
  if exists and (campaign == 'cancelled' or not campaign) then
    step(p, { kind = MOVE.cancel })
    local history = appendHistory(p.history, p.state, now, m.acceptedAt, '')
    redis.call('HSET', m.record, FIELD.state, p.state, FIELD.history, history)
    noteEvent(p, m.ulid, history)
    redis.call('ZREM', m.queuedAgain, m.ulid)
    redis.call('ZADD', m.requeueable, now, m.ulid)
    count(m.campaigns, m.run, m.ulid, p.repeats, QUEUED, p.state)
  end
  return true
end

-- Ends it when its validity is over.
local function isExpired(m, p, exists, now)
  if p.state ~= QUEUED or now < m.validUntil then return false end
  local before = exists and p.state or nil
  if not exists then p.repeats = repeatsIn(m.newFields) end
  step(p, { kind = MOVE.claim }, true)
  settle(m, p, exists, now, before, EXPIRED, '')
  if before then redis.call('ZREM', m.queuedAgain, m.ulid) end
  redis.call('ZADD', m.requeueable, now, m.ulid)
  return true
end
