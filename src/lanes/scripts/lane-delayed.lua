-- The delayed jobs of a lane that follow a position, in the order of their scores and then of their ids. From the 4,096th on, all jobs
-- of one millisecond have one score, and there may be a million of them: where they follow the position is searched by halves.
--
-- Keys:
--   delayed       ZSET    ids of jobs that are put off, and when they are due
-- Arguments:
--   score         of the position
--   id            of the position; empty: before all of its score
--   most          so many at most
--
-- Returns ids and scores in turn.
local delayed = unpack(KEYS)
local score, id, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)

-- Byte by byte, as Redis orders them: how Lua compares texts depends on the locale of the server.
local function isAfter(one, other)
  for at = 1, math.max(#one, #other) do
    local left, right = one:byte(at) or -1, other:byte(at) or -1
    if left ~= right then return left > right end
  end
  return false
end

local text = string.format('%d', score)
local first = redis.call('ZCOUNT', delayed, '-inf', '(' .. text)
local last = redis.call('ZCOUNT', delayed, '-inf', text)
while first < last do
  local middle = math.floor((first + last) / 2)
  if isAfter(redis.call('ZRANGE', delayed, middle, middle)[1], id) then last = middle else first = middle + 1 end
end
return redis.call('ZRANGE', delayed, first, first + most - 1, 'WITHSCORES')
