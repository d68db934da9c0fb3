#!lua
-- Adds messages of a lane to its index, before their jobs are added. Refused when Redis is full, like the jobs. Running it
-- twice shows nothing twice.
--
-- Keys:
--   index     ZSET  segments of the lane's index
-- Arguments:
--   series    `o` for messages to send, `r` for received ones
--   ids       packed, one after the other
--   hashes    4 bytes each
--   oldestMs  when the first of them was accepted
--   newestMs  and the last
--   untilMs   until then none of them can have a record
-- include message-index
local index = unpack(KEYS)
local series, ids, hashes, oldestMs, newestMs, untilMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local time = redis.call('TIME')
indexMessages(index, series, ids, hashes, oldestMs, newestMs, untilMs, time[1] * 1000 + math.floor(time[2] / 1000))
return 'OK'
