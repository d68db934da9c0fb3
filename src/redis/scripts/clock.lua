#!lua flags=no-writes
-- The clock of the server that has a key: servers of a cluster may disagree.
--
-- Keys:
--   near    of any kind; nothing of it is read
-- Output: {seconds, microseconds}
local near = unpack(KEYS)
return redis.call('TIME')
