-- Makes a hash permanent that was created (create-hash.lua) and is listed now.
--
-- Keys:
--   hash  HASH
-- Arguments: none
-- Output: 1 when it is kept from now on, else 0
local hash = unpack(KEYS)
if redis.call('HDEL', hash, 'unlisted') == 0 then return 0 end
return redis.call('PERSIST', hash)
