#!lua flags=allow-oom
-- Records a failed upload and backs it off, the longer, the more failures there were lately. Allowed when Redis is full, or
-- the upload would be tried again and again.
--
-- Keys:
--   backoff   STRING
--   failures  STRING
-- Arguments:
--   text      why it backs off
--   leastMs   least backoff
--   from      it backs off from this many failures on; 0: this failure does not count
--   firstMs   backoff after one failure, doubled for each further one
--   mostMs    longest backoff
--   keptMs    failures longer ago do not count
-- Output: the backoff (ms)
local backoff, failures = unpack(KEYS)
local text, leastMs, from, firstMs, mostMs, keptMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local ms = leastMs
if from > 0 then
  local count = redis.call('INCR', failures)
  redis.call('PEXPIRE', failures, keptMs)
  if count < from then return 0 end
  ms = math.max(leastMs, math.min(mostMs, firstMs * 2 ^ math.min(20, count - 1)))
end
redis.call('SET', backoff, text, 'PX', string.format('%.0f', ms))
return ms
