-- Frees a lock, unless it has run out and belongs to somebody else by now.
--
-- KEYS[1] lock (STRING)     ARGV[1] its holder
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
