#!lua
-- Gives an erasure its turn: the one after the latest of its account, or after the one that is being worked on where the
-- account has none to come. So accounts take turns, however many erasures one of them asks for.
--
-- Keys:
--   turns    HASH  account -> its latest turn, and `now` -> the turn that is being worked on
-- Arguments:
--   account
--   keepMs   without another erasure for so long it all begins anew
-- Output: the turn, from 1
local turns = unpack(KEYS)
local account, keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local known = redis.call('HMGET', turns, account, 'now')
local turn = math.max(tonumber(known[1] or '0'), tonumber(known[2] or '0')) + 1
redis.call('HSET', turns, account, turn)
redis.call('PEXPIRE', turns, keepMs)
return turn
