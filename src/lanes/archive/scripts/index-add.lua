#!lua
-- Adds messages of a lane to its index, before their jobs are added. Refused when Redis is full, like the jobs. Running it
-- twice lists no message twice.
--
-- Keys:
--   index       ZSET  segments of the lane's index
-- Arguments:
--   series      SERIES.sent for messages to send, SERIES.received for received ones
--   ids         packed, one after the other
--   hashes      4 bytes each
--   oldestMs    when the first of them was accepted
--   newestMs    and the last
--   untilMs     until then none of them can have a record
--   campaigns?  what the keys of the lane's campaigns begin with
--   run?        number of the campaign that all of them belong to
--   place?      of the first in the campaign's list; the others follow it
-- include message-index
local index = unpack(KEYS)
local series, ids, hashes, oldestMs, newestMs, untilMs, campaigns, run, place = unpack(cmsgpack.unpack(ARGV[1]), 1, 9)
if run then
  indexCampaign(index, campaigns, run, newestMs, place, ids, hashes, untilMs, redisNowMs())
else
  indexMessages(index, series, ids, hashes, oldestMs, newestMs, untilMs, redisNowMs())
end
return 'OK'
