-- Keeps a hash that was created and is listed by now. One that was kept before stays as it is.
--
-- Keys:
--   hash  HASH
-- Arguments: none
-- Output: 1 when it is kept from now on, else 0
local hash = unpack(KEYS)
if redis.call('HDEL', hash, 'unlisted') == 0 then return 0 end
return redis.call('PERSIST', hash)
