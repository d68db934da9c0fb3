-- A page of a sorted set, after a place in it. What stands at the place may be gone by then, and so may what stood
-- before it, so that the place is given by score and member and not by rank.
-- KEYS[1] ZSET
-- ARGV[1] score, ARGV[2] member: the page begins after them     ARGV[3] highest score       ARGV[4] most members
-- Output: {member, score, …} in their order
local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
local high = redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[1])
while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', KEYS[1], middle, middle)[1] <= ARGV[2] then low = middle + 1 else high = middle end
end
local page = {}
local found = redis.call('ZRANGE', KEYS[1], low, low + tonumber(ARGV[4]) - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) > tonumber(ARGV[3]) then break end
  page[#page + 1] = found[i]
  page[#page + 1] = found[i + 1]
end
return page
