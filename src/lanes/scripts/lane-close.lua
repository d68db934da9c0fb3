#!lua
-- Closes a lane that has nothing to do. Running it again changes nothing but until when that is kept.
--
-- Keys:
--   waiting          LIST    jobs: BullMQ's
--   prioritized      ZSET    jobs: BullMQ's
--   delayed          ZSET    jobs: BullMQ's
--   active           LIST    jobs: BullMQ's
--   chunksWaiting    LIST    chunks: BullMQ's
--   chunksDelayed    ZSET    chunks: BullMQ's
--   chunksActive     LIST    chunks: BullMQ's
--   inDoubt          ZSET    messages in doubt
--   queuedAgain      ZSET    messages queued again
--   activeCampaigns  HASH    campaigns that a worker looks after
--   closed           STRING  there once the lane's sender was removed
-- Arguments:
--   keepMs
-- Output: 1 when it is closed, 0 when it has something to do
local waiting, prioritized, delayed, active, chunksWaiting, chunksDelayed, chunksActive, inDoubt, queuedAgain, activeCampaigns, closed = unpack(KEYS)
local keepMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local busy = redis.call('EXISTS', waiting, prioritized, delayed, active, chunksWaiting, chunksDelayed, chunksActive,
  inDoubt, queuedAgain, activeCampaigns)
if busy > 0 then return 0 end
redis.call('SET', closed, '1', 'PX', keepMs)
return 1
