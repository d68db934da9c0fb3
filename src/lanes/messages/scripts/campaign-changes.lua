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

-- Gathers that a message came to a state, from another one unless it is new, and that nothing else is counted of it.
local function gatherMove(run, ulid, from, to)
  local changes = changesOf(run)
  local counts, states = changes.counts, changes.states
  if from then counts[from] = (counts[from] or 0) - 1 end
  counts[to] = (counts[to] or 0) + 1
  states[#states + 1] = placeOf(ulid)
  states[#states + 1] = string.find(ORDER, to, 1, true)
end

-- Writes changes of one campaign: counts {letter = by how many}, states {place, state, place, state, ...}.
local function writeChanges(prefix, run, changes)
  local key = prefix .. run
  local campaign = redis.call('HMGET', key, 'state', 'total')
  -- The campaign is gone: counts that are written now would never expire.
  if not campaign[1] then return end
  for letter, by in pairs(changes.counts) do
    if by ~= 0 then redis.call('HINCRBY', key .. SUFFIX.counts, letter, by) end
  end
  local total, set = tonumber(campaign[2] or '0'), {}
  for i = 1, #changes.states, 2 do
    -- An id that was not made from the list must not make the string grow.
    if changes.states[i] < total then
      local n = #set
      set[n + 1], set[n + 2], set[n + 3], set[n + 4] = 'SET', 'u4', '#' .. changes.states[i], whole(changes.states[i + 1])
    end
  end
  if #set > 0 then redis.call('BITFIELD', key .. SUFFIX.states, unpack(set)) end
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
