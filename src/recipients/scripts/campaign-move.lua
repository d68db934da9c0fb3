-- Moves a campaign to another state, if its current one allows it. Idempotent, unless the move leads back to a state it starts from.
--
-- Keys:
--   outbox    STREAM  events of the lane, if anybody wants them
--   campaign  HASH
--   active    HASH    number -> state of the lane's active campaigns
--   counts    HASH    of the campaign
--   states    STRING  the states of its recipients
--   closed    STRING  there once the lane's sender was removed
--   replied   STRING  which of its recipients have answered
--   places    ZSET    places of campaigns that wait on the lane
--   turns     ZSET    their turns
-- Arguments:
--   number
--   allowed   {state, ...}: it is allowed from these
--   to        new state
--   inEpoch?  it must be in
--   dueAt?    it must be scheduled for then (ms)
--   begins    a new epoch begins, which ends the jobs of the old one
--   rewind    how many recipients are fed once more
--   keepMs    how long an ended campaign is kept
--   writes    {name: value}: further fields to write; the value '@now' is the time
-- Output: {'moved' or 'refused', state, epoch}, or {'closed', state, epoch} when it needs a worker and its sender was
-- removed; {'missing'} when there is no campaign
-- include ../../lanes/scripts/places-drop
local outbox, campaign, active, counts, states, closed, replied, places, turns = unpack(KEYS)
local number, allowed, to, inEpoch, dueAt, begins, rewind, keepMs, writes = unpack(cmsgpack.unpack(ARGV[1]), 1, 9)
local found = redis.call('HMGET', campaign, 'state', 'epoch', 'next', 'scheduled_at')
local state, epoch = found[1], tonumber(found[2] or '0')
if not state then return { 'missing' } end
local isAllowed = false
for _, each in ipairs(allowed) do isAllowed = isAllowed or each == state end
if not isAllowed or (inEpoch and inEpoch ~= epoch) or (dueAt and dueAt ~= tonumber(found[4] or '')) then return { 'refused', state, epoch } end

local isActive = to == 'running' or to == 'scheduled' or to == 'checking'
  or (to == 'ready' and redis.call('HGET', campaign, 'starts_itself') == '1')
if isActive and redis.call('EXISTS', closed) == 1 then return { 'closed', state, epoch } end

local now = string.format('%.0f', redisNowMs())
if begins then epoch = epoch + 1 end
local fields = { 'state', to, 'epoch', epoch, 'beat', now }
local cursor = tonumber(found[3] or '0')
local next = math.max(0, cursor - rewind)
-- What waited on the lane is fed again by a resume.
local dropped = state == 'running' and to ~= state and dropPlaces(places, turns, number)
if dropped and to == 'paused' then next = math.min(next, dropped) end
if next < cursor then
  fields[#fields + 1] = 'next'
  fields[#fields + 1] = next
end
for name, value in pairs(writes) do
  fields[#fields + 1] = name
  fields[#fields + 1] = value == '@now' and now or value
end
redis.call('HSET', campaign, unpack(fields))
local isEvent = to == 'running' or to == 'paused' or to == 'done' or to == 'cancelled'
if isEvent and redis.call('EXISTS', outbox) == 1 then
  local seq = redis.call('HINCRBY', campaign, 'notices', 1)
  local event = { about = 'campaign', number = number, state = to, from = state, seq = seq, at = tonumber(now) }
  event.reason = to == 'paused' and writes.reason or nil
  redis.call('XADD', outbox, '*', ENTRY.events, cjson.encode(event))
end

if isActive then
  redis.call('HSET', active, number, to)
else
  redis.call('HDEL', active, number)
end
if to == 'done' or to == 'cancelled' then
  for _, key in ipairs({ campaign, counts, states, replied }) do redis.call('PEXPIRE', key, keepMs) end
end
return { 'moved', to, epoch }
