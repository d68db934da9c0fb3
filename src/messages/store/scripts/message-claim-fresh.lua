#!lua
-- Claims messages of one campaign that nobody has claimed before, each for one attempt, and reserves their slots: what
-- message-claim.lua does for messages of every kind, for those that nothing is in the way of, in a third of the time.
-- Whatever is not as plain as that is not touched, and said so: it is claimed by itself then. Refused when Redis is full.
-- Once more with the same attempts it says `other` of each, as their marks are there.
--
-- Keys:
--   inDoubt       ZSET    messages of the lane in doubt
--   laneCooldown  STRING  when the cooldown of the lane ends (ms); its probe stands beside it
--   slots         LIST    latest slots of the lane
--   campaign      HASH    the campaign
--   marks         STRING  of the campaign: half a byte per recipient, 0 for one whose message was never claimed
-- Arguments:
--   lostAfterMs   the sweep takes an attempt for lost after this
--   retentionMs
--   campaigns     what the keys of the lane's campaigns begin with
--   run           number of the campaign
--   acceptedAt    ms
--   validUntil    ms
--   aheadUs       a slot is reserved so far ahead at most
--   records       what the keys of messages begin with, before their ulid
--   cooldowns     the same of the cooldowns of recipients, before their names
--   waits         the same of the waits of messages
--   shared        {field, value, ...}: what all new records hold
--   ulids         of the messages, in the order of the list
--   places        of their recipients in the list
--   attempts      ids of the attempts
--   recipients    as the record has them
--   filled        what was filled in, as it is stored
--   pace          {gapUs: between slots, closestUs: least gap, window: slots of it}
--   names?        what stands for the recipients in the names of keys, where it is not what the record has
-- Output: {'stopped'}: the campaign does not run; {'lane_cooldown', ms}; else {'done', time (µs), one of each}: its slot,
-- `other` for one that is to be claimed by itself, or the ms to wait of one whose slot would be too far ahead
-- include message-lifecycle
-- include message-pace
-- include message-cooldowns
local inDoubt, laneCooldown, slots, campaign, marks = unpack(KEYS)
local lostAfterMs, retentionMs, campaigns, run, acceptedAt, validUntil, aheadUs, records, cooldowns, waits, shared, ulids,
  places, attempts, recipients, filled, pace, names = unpack(cmsgpack.unpack(ARGV[1]), 1, 18)

local nowUs = redisNowUs()
local now = math.floor(nowUs / 1000)
local total = #ulids
local results = { 'done', string.format('%.0f', nowUs) }

if redis.call('HGET', campaign, 'state') ~= 'running' then return { 'stopped' } end
local cool = redis.call('MGET', laneCooldown, laneCooldown .. '-probe')
local coolMs = cooldownLeft(cool[1], cool[2], now)
if coolMs > 0 then return { 'lane_cooldown', coolMs } end

-- One read for all: cooldowns of the recipients and waits; which records there are; the marks.
local asked, known = {}, {}
local first, last = math.huge, -1
for i = 1, total do
  asked[i], asked[total + i] = cooldowns .. (names or recipients)[i], waits .. ulids[i]
  known[i] = records .. ulids[i]
  first, last = math.min(first, places[i]), math.max(last, places[i])
end
local found = redis.call('MGET', unpack(asked))
local firstByte = math.floor(first / 2)
local bytes = redis.call('GETRANGE', marks, firstByte, math.floor(last / 2))
-- Every record has its mark; should one have none, each is looked at by itself. Nothing expires in the fast way either, and
-- nothing probes a lane.
local isPlain = now < validUntil and not cool[2] and redis.call('EXISTS', unpack(known)) == 0

local function isFresh(i)
  if not isPlain or found[i] or found[total + i] then return false end
  local byte = string.byte(bytes, math.floor(places[i] / 2) - firstByte + 1) or 0
  return (places[i] % 2 == 0 and math.floor(byte / 16) or byte % 16) == 0
end

local lane = openSlots(slots, nowUs, pace, total)
local history = 'c' .. base36(now - acceptedAt) .. ','
-- As text: a number is written out anew by every command that it is given to.
local keptMs, lostAt = string.format('%.0f', retentionMs), string.format('%.0f', now + lostAfterMs)
local added, taken, seen = {}, {}, {}
for i = 1, total do
  local slotUs = lane.next()
  local earlyUs = slotUs - nowUs - aheadUs
  if seen[ulids[i]] or not isFresh(i) then
    results[i + 2] = 'other'
  elseif earlyUs > 0 then
    -- More than one slot is let pass, so that it is not asked again for each.
    results[i + 2] = math.ceil((earlyUs + aheadUs / 2) / 1000)
  else
    redis.call('HSET', known[i], 's', SENDING, 'a', attempts[i], 'h', history .. attempts[i], 't', recipients[i], 'v',
      filled[i], unpack(shared))
    redis.call('PEXPIRE', known[i], keptMs)
    added[#added + 1], added[#added + 2] = lostAt, ulids[i]
    taken[#taken + 1], taken[#taken + 2] = places[i], string.find(MARKS, SENDING, 1, true)
    results[i + 2] = lane.reserve(slotUs)
  end
  seen[ulids[i]] = true
end
if #added > 0 then
  redis.call('ZADD', inDoubt, unpack(added))
  writeChanges(campaigns, run, { counts = { [SENDING] = #added / 2 }, marks = taken })
  lane.write()
end
return results
