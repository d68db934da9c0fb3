#!lua
-- Adds messages of a campaign to the index of its lane, before their jobs are added. Refused when Redis is full, like
-- the jobs. Running it twice changes nothing.
--
-- Keys:
--   index        ZSET  segments of the lane's index
-- Arguments:
--   run          number of the campaign
--   startedAtMs
--   place        of the first in the campaign's list; the others follow it
--   ids          7 bytes each
--   marks        4 bytes each
--   untilMs      until then none of them can have a record
-- include message-index
local index = unpack(KEYS)
local run, startedAtMs, place, ids, marks, untilMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
indexCampaign(index, run, startedAtMs, place, ids, marks, untilMs)
return 'OK'
