#!lua flags=allow-oom
-- Ends a sweep of lanes: sets when each is due again, or takes it off. A lane that was marked since it was taken has another
-- score by now and is left alone: its new work may have come after the sweep.
--
-- Keys:
--   due       ZSET  lanes that are due
-- Arguments:
--   takenUntil  the score that they got when they were taken (ms)
--   times       {{lane: , atMs?: none takes it off}, ...}
local due = unpack(KEYS)
local takenUntil, times = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
for _, each in ipairs(times) do
  if tonumber(redis.call('ZSCORE', due, each.lane) or '-1') == takenUntil then
    if each.atMs then redis.call('ZADD', due, each.atMs, each.lane) else redis.call('ZREM', due, each.lane) end
  end
end
return 'OK'
