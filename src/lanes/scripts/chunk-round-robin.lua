#!lua
-- Gives chunks that were added behind all others of a lane their turn: each goes behind those of its own campaign, and
-- before any other chunk that has more recipients of one campaign before it than this one has. So from now on campaigns
-- get equal parts of the lane, however many chunks one of them had there, and whatever their sizes. What is not there any
-- more was taken up meanwhile. A job that is no chunk stays where it is.
--
-- Keys:
--   waiting  LIST  ids of chunks: BullMQ's; the next one is the last
-- Arguments:
--   added    ids, in their order
-- Output: 'OK'
local waiting = unpack(KEYS)
local added = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)

local function read(id)
  local campaign, count = string.match(id, '^chunk_(%d+)_%d+_(%d+)_')
  return campaign, tonumber(count)
end

-- The chunk that this one goes before; nil: it goes last.
local function followerOf(own, ids)
  local mine, last = 0, #ids + 1
  for i = #ids, 1, -1 do
    local campaign, count = read(ids[i])
    if campaign == own then mine, last = mine + count, i end
  end
  local before = {}
  for i = #ids, 1, -1 do
    local campaign, count = read(ids[i])
    if campaign then
      local ahead = before[campaign] or 0
      if i < last and ahead > mine then return ids[i] end
      before[campaign] = ahead + count
    end
  end
end

local placed = {}
for _, id in ipairs(added) do
  if read(id) and redis.call('LREM', waiting, 1, id) == 1 then placed[#placed + 1] = id end
end
for _, id in ipairs(placed) do
  local follower = followerOf((read(id)), redis.call('LRANGE', waiting, 0, -1))
  if follower then
    redis.call('LINSERT', waiting, 'AFTER', follower, id)
  else
    redis.call('LPUSH', waiting, id)
  end
end
return 'OK'
