-- One round of a campaign's fan-out: moves its cursor, writes its heartbeat, and reads what the next round needs.
--
-- Keys:
--   campaign       HASH
--   counts         HASH    of the campaign
--   activeCampaigns HASH   of the lane
--   waiting        LIST    jobs of the lane: BullMQ's
--   prioritized    ZSET    jobs of the lane: BullMQ's
--   delayed        ZSET    jobs of the lane: BullMQ's
--   active         LIST    jobs of the lane: BullMQ's
--   places         ZSET    places of the lane's campaigns that wait
--   throttled      STRING  how often the lane was
-- Arguments:
--   epoch
--   moved?         {from: , to: }: the cursor before and after
--   rate           messages per second measured, as text
--   pace           that it is held to, as text ('' = none)
-- Output: {'over', fed} when the campaign does not run in this epoch any more; else
--   {'on', fed, time (ms), cursor, running campaigns of the lane, backlog of the lane in jobs, how many of it are not due soon,
--   its places, throttled, {letter, count, ...}}
--   fed: recipients that the cursor has passed for the first time; a resume sends it back
-- include ../../lanes/bullmq/scripts/job-scores
local campaign, counts, activeCampaigns, waiting, prioritized, delayed, active, places, throttled = unpack(KEYS)
local epoch, moved, rate, pace = unpack(cmsgpack.unpack(ARGV[1]), 1, 4)
local found = redis.call('HMGET', campaign, 'state', 'epoch', 'next', 'furthest')
if found[1] ~= 'running' then return { 'over', 0 } end
local cursor = tonumber(found[3] or '0')
-- Another fan-out may have moved it: two feed the same messages, which is harmless, but only one moves on.
local isMine = moved and cursor == moved.from
local fed = isMine and math.max(0, moved.to - tonumber(found[4] or cursor)) or 0
if fed > 0 then redis.call('HSET', campaign, 'furthest', moved.to) end
-- Taken over while it fed: whoever goes on feeds these places once more, and those that wait are left as they are.
if tonumber(found[2]) ~= epoch then return { 'over', fed } end

local now = redisNowMs()
if isMine then cursor = moved.to end
redis.call('HSET', campaign, 'next', cursor, 'beat', string.format('%.0f', now), 'rate', rate, 'pace', pace)

local SOON_MS = 10000
local running = 0
for _, state in ipairs(redis.call('HVALS', activeCampaigns)) do
  if state == 'running' then running = running + 1 end
end
local backlog = redis.call('LLEN', waiting) + redis.call('ZCARD', prioritized)
  + redis.call('ZCARD', delayed) + redis.call('LLEN', active)
-- Jobs that are delayed for long, such as those of capped people, must not keep others from being fed.
local later = redis.call('ZCOUNT', delayed, scoreFrom(now + SOON_MS), '+inf')
local times = tonumber(redis.call('GET', throttled) or '0')
return { 'on', fed, now, cursor, running, backlog, later, redis.call('ZCARD', places), times, redis.call('HGETALL', counts) }
