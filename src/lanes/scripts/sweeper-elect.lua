#!lua flags=allow-oom
-- Makes a worker the one that sweeps, or keeps it so, unless another one is.
--
-- Keys:
--   sweeper  STRING  name of the worker that sweeps
-- Arguments:
--   worker   name of the worker that asks
--   holdMs   how long it sweeps if nobody asks again
-- Output: 1 when that worker sweeps now
local sweeper = unpack(KEYS)
local worker, holdMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local held = redis.call('GET', sweeper)
if held and held ~= worker then return 0 end
redis.call('SET', sweeper, worker, 'PX', holdMs)
return 1
