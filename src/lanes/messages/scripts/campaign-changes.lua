-- What a step of messages changes in their campaigns: counts, and the states of recipients.
-- include message-history
-- include recipient-states

-- What a step of many messages changes in campaigns, by their numbers; nil: each change is written at once.
local gathered

-- What is gathered of a campaign.
local function changesOf(run)
  local changes = gathered[run] or { counts = {}, states = {} }
  gathered[run] = changes
  return changes
end

-- Gathers that a message came to a state, from another one unless it is new, and that nothing else is counted of it. Of one step most
-- come to the same state; from the first that comes to another one on they are kept in their order, for one may come to both.
local function gatherMove(run, ulid, from, to)
  local changes = changesOf(run)
  local counts, alike = changes.counts, changes.alike
  if from then counts[from] = (counts[from] or 0) - 1 end
  counts[to] = (counts[to] or 0) + 1
  if not alike then
    changes.alike = { to = to, placeOf(ulid) }
  elseif alike.to == to and #changes.states == 0 then
    alike[#alike + 1] = placeOf(ulid)
  else
    local states = changes.states
    local n = #states
    states[n + 1], states[n + 2] = placeOf(ulid), string.find(ORDER, to, 1, true)
  end
end

-- States are written as the bytes that hold them if there are at most so many bytes for each state, else one by one. Those of one step
-- mostly lie side by side, and as bytes they are one argument instead of four each.
local MOST_BYTES_EACH = 4

-- Writes states of recipients, {place, state, place, state, ...}. An id that was not made from the list must not make the string grow:
-- places from `total` on are left out.
local function writeStates(key, total, states)
  local first, last = math.huge, -1
  for i = 1, #states, 2 do
    local place = states[i]
    if place < total then
      if place < first then first = place end
      if place > last then last = place end
    end
  end
  if last < 0 then return end
  local from, to = math.floor(first / 2), math.floor(last / 2)
  if to - from >= MOST_BYTES_EACH * #states / 2 then
    local set = {}
    for i = 1, #states, 2 do
      local n = #set
      if states[i] < total then
        set[n + 1], set[n + 2], set[n + 3], set[n + 4] = 'SET', 'u4', '#' .. whole(states[i]), states[i + 1]
      end
    end
    redis.call('BITFIELD', key, unpack(set))
    return
  end
  local bytes = { string.byte(redis.call('GETRANGE', key, from, to), 1, -1) }
  for at = #bytes + 1, to - from + 1 do bytes[at] = 0 end
  for i = 1, #states, 2 do
    local place, state = states[i], states[i + 1]
    if place < total then
      local half = place % 2
      local at = (place - half) / 2 - from + 1
      local right = bytes[at] % 16
      bytes[at] = half == 0 and state * 16 + right or bytes[at] - right + state
    end
  end
  redis.call('SETRANGE', key, from, string.char(unpack(bytes)))
end

-- Writes one state of several recipients, no two of them the same. Those that lie side by side, as they mostly do, are written as
-- they are; the halves of other recipients at both ends stay.
local function writeAlike(key, total, alike)
  local state, first, last = string.find(ORDER, alike.to, 1, true), math.huge, -1
  for i = 1, #alike do
    local place = alike[i]
    if place < first then first = place end
    if place > last then last = place end
  end
  if last >= total or last - first + 1 > #alike then
    local states = {}
    for i, place in ipairs(alike) do states[2 * i - 1], states[2 * i] = place, state end
    return writeStates(key, total, states)
  end
  local from, to = (first - first % 2) / 2, (last - last % 2) / 2
  local bytes = string.rep(string.char(17 * state), to - from + 1)
  if first % 2 == 1 or last % 2 == 0 then
    local before = redis.call('GETRANGE', key, from, to)
    if first % 2 == 1 then
      local left = string.byte(before, 1) or 0
      bytes = string.char(left - left % 16 + state) .. string.sub(bytes, 2)
    end
    if last % 2 == 0 then
      local right = string.byte(before, to - from + 1) or 0
      bytes = string.sub(bytes, 1, -2) .. string.char(16 * state + right % 16)
    end
  end
  redis.call('SETRANGE', key, from, bytes)
end

-- Writes changes of one campaign: counts {letter = by how many}, states {place, state, place, state, ...}.
local function writeChanges(prefix, run, changes)
  local key = prefix .. run
  local campaign = redis.call('HMGET', key, 'state', 'total')
  -- The campaign is gone: counts that are written now would never expire.
  if not campaign[1] then return end
  for letter, by in pairs(changes.counts) do
    if by ~= 0 then redis.call('HINCRBY', key .. SUFFIX.counts, letter, string.format('%d', by)) end
  end
  local total = tonumber(campaign[2] or '0')
  if changes.alike then writeAlike(key .. SUFFIX.states, total, changes.alike) end
  if #changes.states > 0 then writeStates(key .. SUFFIX.states, total, changes.states) end
  -- If the campaign has ended, a key that this step has created expires with it.
  local ttl = redis.call('PTTL', key)
  if ttl <= 0 then return end
  for _, suffix in ipairs({ SUFFIX.counts, SUFFIX.states }) do
    if redis.call('PTTL', key .. suffix) == -1 then redis.call('PEXPIRE', key .. suffix, ttl) end
  end
end

-- Writes all that was gathered.
local function writeGathered(prefix)
  for run, changes in pairs(gathered) do writeChanges(prefix, run, changes) end
end
