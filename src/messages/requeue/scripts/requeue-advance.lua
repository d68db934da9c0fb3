-- Moves the cursor of a requeue job past a page, and counts what the page held. Of two workers with the same page only one
-- moves it and counts.
--
-- Keys:
--   progress  HASH  how far the job is on this lane
-- Arguments:
--   from      cursor before ('' = none yet)
--   to        cursor after
--   keepMs
--   counts    {field: how many more}
-- Output: 1, or 0 when the cursor has moved
local progress = unpack(KEYS)
local from, to, keepMs, counts = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
if (redis.call('HGET', progress, 'cursor') or '') ~= from then return 0 end
redis.call('HSET', progress, 'cursor', to)
for field, more in pairs(counts) do
  if more ~= 0 then redis.call('HINCRBY', progress, field, more) end
end
redis.call('PEXPIRE', progress, keepMs)
return 1
