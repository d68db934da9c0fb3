#!lua flags=allow-oom
-- Makes a worker the one that sweeps, or keeps it so, unless another one is.
--
-- KEYS[1] name of the worker that sweeps (STRING)    ARGV[1] name of the worker that asks    ARGV[2] ms it holds
-- Output: 1 when that worker sweeps now
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
