#!lua flags=allow-oom
-- Lets another worker sweep at once.
--
-- Keys:
--   sweeper  STRING  name of the worker that sweeps
-- Arguments:
--   worker   name of the worker that stops
local sweeper = unpack(KEYS)
local worker = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('GET', sweeper) == worker then redis.call('DEL', sweeper) end
return 'OK'
