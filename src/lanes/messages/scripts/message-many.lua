-- A step of many messages: each is handled by itself, and what they have in common is written once. Included after
-- message-lifecycle.lua and message-events.lua by message-claim.lua and message-step.lua.
-- include each-alone

-- Members to add to sorted sets, or to remove from them, at the end: by key {score, member, ...} and {member, ...}.
local added, removed = {}, {}

local function addLater(key, score, member)
  local list = added[key] or {}
  added[key] = list
  list[#list + 1], list[#list + 2] = score, member
end

local function removeLater(key, member)
  local list = removed[key] or {}
  removed[key] = list
  list[#list + 1] = member
end

local function writeSets()
  for key, members in pairs(removed) do redis.call('ZREM', key, unpack(members)) end
  for key, members in pairs(added) do redis.call('ZADD', key, unpack(members)) end
  added, removed = {}, {}
end

-- The score of a member, once pending changes are written.
local function scoreOf(key, member)
  writeSets()
  return redis.call('ZSCORE', key, member)
end

-- Runs `take` for each message, whose first argument is its ulid; returns the result of each, {'error', text} where it
-- failed. `campaigns` is what the keys of the lane's campaigns begin with.
local function forEach(each, campaigns, take)
  gathered = {}
  local results, seen = {}, {}
  for i = 1, #each do
    local ulid = each[i][1]
    -- Write what is gathered first: the batched writes lose the order of two steps of one message.
    if seen[ulid] then writeSets() end
    seen[ulid] = true
    results[i] = resultOf(take, i)
  end
  writeEvents()
  writeSets()
  writeGathered(campaigns)
  return results
end
