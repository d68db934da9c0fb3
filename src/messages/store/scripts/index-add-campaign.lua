#!lua
-- Adds messages of a campaign to the index of its lane, before their jobs are added. Refused when Redis is full, like
-- the jobs. Running it twice changes nothing.
--
-- Keys:
--   index        ZSET  segments of the lane's index
-- Arguments:
--   campaigns    what the keys of the lane's campaigns begin with
--   run          number of the campaign
--   startedAtMs
--   place        of the first in the campaign's list; the others follow it
--   ids          packed, one after the other
--   hashes       4 bytes each
--   untilMs      until then none of them can have a record
-- include message-index
local index = unpack(KEYS)
local campaigns, run, startedAtMs, place, ids, hashes, untilMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 7)
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
indexCampaign(index, campaigns, run, startedAtMs, place, ids, hashes, untilMs, nowMs)
return 'OK'
