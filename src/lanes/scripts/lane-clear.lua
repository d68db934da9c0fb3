#!lua
-- Clears a lane of waiting jobs that must not be sent: their validity is over, or their campaign does not run. Judges each
-- of a page again, here, and writes exactly what the claim of it would have written (message-unsendable.lua), so that
-- running it twice, or beside claims, or dying after any page is harmless. Refused when Redis is full, like a claim.
--
-- KEYS[1] waiting jobs (LIST, the next one last) or prioritized jobs (ZSET)
-- KEYS[2] open messages of the lane (ZSET)      KEYS[3] messages that ended badly (ZSET)
-- KEYS[4] who clears this list (STRING): two at once would only look for what the other has taken off
-- KEYS[5] messages queued again (ZSET)
-- ARGV[1] who asks            ARGV[2] retention (ms)      ARGV[3] what the keys of the lane's campaigns begin with
-- ARGV[4], ARGV[5] what the keys of records and of jobs begin with
-- ARGV[6…] of each message: job id, ulid, accepted at (ms), valid until (ms), number of its campaign ('' = none), how
--   many of the following arguments are what a new record holds besides, and those: field, value, …
-- Output: {expired, stopped}; {-1, 0} when somebody else clears this list
-- include ../../messages/store/scripts/message-lifecycle
-- include ../../messages/store/scripts/message-unsendable
local SOLE_MS = 1000
local sole = redis.call('GET', KEYS[4])
if sole and sole ~= ARGV[1] then return { -1, 0 } end
redis.call('SET', KEYS[4], ARGV[1], 'PX', SOLE_MS)

local now = redisNowMs()
local isList = redis.call('TYPE', KEYS[1]).ok == 'list'
local expired, stopped = 0, 0
local at = 6
while at <= #ARGV do
  local last = at + 5 + tonumber(ARGV[at + 5])
  local id = ARGV[at]
  local m = {
    record = ARGV[4] .. ARGV[at + 1],
    open = KEYS[2],
    queuedAgain = KEYS[5],
    badly = KEYS[3],
    job = ARGV[5] .. id,
    ulid = ARGV[at + 1],
    accepted = tonumber(ARGV[at + 2]),
    validUntil = tonumber(ARGV[at + 3]),
    retention = ARGV[2],
    run = ARGV[at + 4],
    prefix = ARGV[3],
    fields = { unpack(ARGV, at + 6, last) },
  }
  local p, exists = load(m.record)
  -- A claim ends what is gone.
  local ended = not isGone(m, exists)
    and (isStopped(m, p, exists, now) and 'stopped' or isExpired(m, p, exists, now) and 'expired'
      -- Its campaign was cancelled, and the message with it; its job is all that is left.
      or p.state == CANCELLED and 'stopped')
  if ended == 'stopped' then stopped = stopped + 1 end
  if ended == 'expired' then expired = expired + 1 end
  if ended then
    -- One that a worker has fetched meanwhile is left to it: its claim finds what is written now.
    local taken
    if isList then taken = redis.call('LREM', KEYS[1], -1, id) else taken = redis.call('ZREM', KEYS[1], id) end
    if taken == 1 then redis.call('DEL', m.job) end
  end
  at = last + 1
end
return { expired, stopped }
