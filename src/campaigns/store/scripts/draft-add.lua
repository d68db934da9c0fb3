-- Puts a draft on the list of its account if there is room. Idempotent.
--
-- Keys:
--   drafts  ZSET  campaign id -> when it was created
-- Arguments:
--   id
--   most    drafts on the list; 0 is no limit
--   now     ms
-- Output: 1, or 0 when it is full
local drafts = unpack(KEYS)
local id, most, now = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
if redis.call('ZSCORE', drafts, id) then return 1 end
if most > 0 and redis.call('ZCARD', drafts) >= most then return 0 end
redis.call('ZADD', drafts, now, id)
return 1
