#!lua flags=allow-oom
-- Ends a look at lanes: each is looked at again at a time of its own, or not any more. One that was marked since it was
-- taken has another score by now and stays as it is: what the mark is for may have come after the look.
--
-- Keys:
--   due       ZSET  lanes to look at
-- Arguments:
--   putOffTo  the time that they were put off to when they were taken (ms)
--   looks     {{lane: , atMs?: not any more without it}, ...}
local due = unpack(KEYS)
local putOffTo, looks = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
for _, look in ipairs(looks) do
  if tonumber(redis.call('ZSCORE', due, look.lane) or '-1') == putOffTo then
    if look.atMs then redis.call('ZADD', due, look.atMs, look.lane) else redis.call('ZREM', due, look.lane) end
  end
end
return 'OK'
