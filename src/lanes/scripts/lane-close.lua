#!lua
-- Closes a lane that has nothing to do. Running it again changes nothing.
--
-- Keys:
--   waiting          LIST    jobs: BullMQ's
--   prioritized      ZSET    jobs: BullMQ's
--   delayed          ZSET    jobs: BullMQ's
--   active           LIST    jobs: BullMQ's
--   places           ZSET    places of campaigns that wait
--   inDoubt          ZSET    messages in doubt
--   queuedAgain      ZSET    messages queued again
--   activeCampaigns  HASH    campaigns that need a worker
--   closed           STRING  there once the lane's sender was removed
-- Arguments: none
-- Output: 1 when it is closed, 0 when it has something to do
local waiting, prioritized, delayed, active, places, inDoubt, queuedAgain, activeCampaigns, closed = unpack(KEYS)
local busy = redis.call('EXISTS', waiting, prioritized, delayed, active, places, inDoubt, queuedAgain, activeCampaigns)
if busy > 0 then return 0 end
redis.call('SET', closed, '1')
return 1
