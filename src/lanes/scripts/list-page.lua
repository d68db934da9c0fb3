-- A page of a sorted set after a place in it. The place is given by score and member and not by rank, because members may
-- have been removed since.
--
-- Keys:
--   list       ZSET
-- Arguments:
--   after      the page begins after this score and this member
--   member
--   mostScore
--   most       members
-- Output: {member, score, …} in their order
local list = unpack(KEYS)
local after, member, mostScore, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
-- As Redis writes it: a score of microseconds is longer than what Lua puts into a text by itself.
local score = string.format('%.17g', after)
local low = redis.call('ZCOUNT', list, '-inf', '(' .. score)
local high = redis.call('ZCOUNT', list, '-inf', score)
while low < high do
  local middle = math.floor((low + high) / 2)
  if redis.call('ZRANGE', list, middle, middle)[1] <= member then low = middle + 1 else high = middle end
end
local page = {}
local found = redis.call('ZRANGE', list, low, low + most - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) > mostScore then break end
  page[#page + 1] = found[i]
  page[#page + 1] = found[i + 1]
end
return page
