#!lua flags=allow-oom
-- Lets another worker sweep at once.
--
-- KEYS[1] name of the worker that sweeps (STRING)    ARGV[1] name of the worker that stops
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 'OK'
