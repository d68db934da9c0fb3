#!lua
-- Assigns an erasure to a round: the one after the latest of its account or, if that is over, after the current one. So
-- accounts take turns, however many erasures one of them asks for.
--
-- Keys:
--   rounds    HASH  account -> its latest round, and `now` -> the current round
-- Arguments:
--   account
--   keepMs   rounds restart after so long without an erasure
-- Output: the round, from 1
local rounds = unpack(KEYS)
local account, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local known = redis.call('HMGET', rounds, account, 'now')
local round = math.max(tonumber(known[1] or '0'), tonumber(known[2] or '0')) + 1
redis.call('HSET', rounds, account, round)
redis.call('PEXPIRE', rounds, keepMs)
return round
