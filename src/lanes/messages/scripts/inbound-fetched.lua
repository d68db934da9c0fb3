-- Records on a received message which file of the gallery holds its media, if the message is still kept.
--
-- Keys:
--   inbound  HASH
-- Arguments:
--   file     its id
-- Output: 1, or 0 when there is no such message
local inbound = unpack(KEYS)
local file = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('EXISTS', inbound) == 0 then return 0 end
redis.call('HSET', inbound, INBOUND.gallery_file, file)
return 1
