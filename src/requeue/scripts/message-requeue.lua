-- Queues a message again that ended failed, unknown, expired or cancelled. Refused when Redis is full, as a claim is:
-- nothing is lost by that. Running it twice changes nothing the second time.
--
-- KEYS[1] record of the message (HASH)          KEYS[2] messages queued again (ZSET)
-- KEYS[3] messages that ended badly (ZSET)      KEYS[4] how far the job that asks is on this lane (HASH)
-- ARGV[1] ulid        ARGV[2] accepted at (ms)   ARGV[3] new validity (ms)      ARGV[4] retention (ms)
-- ARGV[5] what the keys of the lane's campaigns begin with
-- ARGV[6] only when it ended at or before this (ms; '' = whenever): what failed once more is not sent a third time
-- ARGV[7] its content, should the record not hold it ('' = none)  ARGV[8] '1': a job asks, and is told how many there were
-- ARGV[9] ms until somebody makes sure that there is a job for it
-- Output: {verdict, state letter}: `done`; `ignored` and the state that forbids it; `campaign_over`: its campaign is
-- cancelled or not kept any more, so that nothing of it is sent; `without_content`; {'missing'}
-- include ../../messages/store/scripts/message-lifecycle
local now = redisNowMs()
local p, exists = load(KEYS[1])
if not exists then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return { 'missing' }
end
local before = p.state
if step(p, { kind = 'requeue' }) == 'ignored' then return { 'ignored', before } end
if ARGV[6] ~= '' then
  local endedAt = redis.call('ZSCORE', KEYS[3], ARGV[1])
  if not endedAt or tonumber(endedAt) > tonumber(ARGV[6]) then return { 'ignored', before } end
end
local campaign = ARGV[5] .. p.run
if p.run ~= '' then
  local state = redis.call('HGET', campaign, 'state')
  if not state or state == 'cancelled' then return { 'campaign_over', before } end
end
if not p.has.p and ARGV[7] == '' then return { 'without_content', before } end

local cause = before == UNKNOWN and string.sub(p.has.e or '', 1, 12)
local isLost = cause == 'worker_lost|' or cause == 'record_lost|'
local fields = { 's', p.state, 'u', ARGV[3], 'h', told(p.story, p.state, now, tonumber(ARGV[2]), 'by hand') }
local function write(field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end
if p.repeats > 0 then write('o', p.repeats) end
if p.others ~= '' then write('b', p.others) end
if not p.has.p then write('p', ARGV[7]) end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('HDEL', KEYS[1], 'n', 'e')
-- It lives as long from now on as a new one, or what becomes of it could not be written down.
redis.call('PEXPIRE', KEYS[1], ARGV[4])
keepCampaign(ARGV[5], p.run, tonumber(ARGV[4]))
count(ARGV[5], p.run, ARGV[1], before, p.state, isLost)
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[9]), ARGV[1])
-- The first count gives the hash an end of its own, should the job never come to move its cursor.
if ARGV[8] == '1' and redis.call('HINCRBY', KEYS[4], 'requeued', 1) == 1 then
  redis.call('PEXPIRE', KEYS[4], 604800000)
end
return { 'done', p.state }
