#!lua flags=allow-oom
-- Notes that an upload went wrong, and has it rest: the longer the more failures there were lately. Also in a full Redis, or it
-- would be tried again and again.
--
-- Keys:
--   rest      STRING
--   failures  STRING
-- Arguments:
--   text      why it rests
--   leastMs   how long it rests at least
--   from      it counts as a failure, and rests from so many on; 0: it does not count
--   firstMs   how long it rests after one failure, doubled for each further one
--   mostMs    but no longer than this
--   keptMs    failures longer ago do not count
-- Output: how long it rests (ms)
local rest, failures = unpack(KEYS)
local text, leastMs, from, firstMs, mostMs, keptMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local ms = leastMs
if from > 0 then
  local count = redis.call('INCR', failures)
  redis.call('PEXPIRE', failures, keptMs)
  if count < from then return 0 end
  ms = math.max(leastMs, math.min(mostMs, firstMs * 2 ^ math.min(20, count - 1)))
end
redis.call('SET', rest, text, 'PX', string.format('%.0f', ms))
return ms
