#!lua flags=allow-oom
-- Gives the place of a message back, unless it has got another one meanwhile.
--
-- Keys:
--   held     ZSET    messages that have a place -> ms until which it counts
-- Arguments:
--   message
--   expected its score as Redis returned it: until when it counted (ms)
-- Output: 1 if it was given back
local held = unpack(KEYS)
local message, expected = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
if redis.call('ZSCORE', held, message) ~= expected then return 0 end
return redis.call('ZREM', held, message)
