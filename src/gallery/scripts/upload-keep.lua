#!lua flags=allow-oom
-- Stores WhatsApp's id of an uploaded content. Allowed when Redis is full: without the id it would be uploaded again and again.
--
-- Keys:
--   upload  STRING
--   backoff    STRING
-- Arguments:
--   text    when to upload it anew, and the id
--   keptMs  how long the id is used
local upload, backoff = unpack(KEYS)
local text, keptMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
redis.call('SET', upload, text, 'PX', keptMs)
redis.call('DEL', backoff)
return 1
