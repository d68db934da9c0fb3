#!lua flags=allow-oom
-- Cancels a message that waits. Until it is claimed its job is its record, so that a record is written here: whatever
-- becomes of the job then, a claim finds the message cancelled. Running it twice changes nothing the second time.
--
-- KEYS[1] record of the message (HASH)          KEYS[2] open messages of the lane (ZSET)
-- KEYS[3] messages that ended badly (ZSET)      KEYS[4] the message's job in BullMQ (HASH)
-- KEYS[5] messages queued again (ZSET)
-- ARGV[1] ulid        ARGV[2] accepted at (ms)   ARGV[3] retention (ms)
-- ARGV[4] what the keys of the lane's campaigns begin with     ARGV[5] number of the campaign ('' = none)
-- ARGV[6] valid until (ms), of a message without a record      ARGV[7…] field, value, …: what its record holds then
-- Output: {verdict, state letter}: `done`, or `ignored` and the state that forbids it; {'missing'}
-- include ../../messages/store/scripts/message-lifecycle
local now = redisNowMs()
local p, exists = load(KEYS[1])
local before = exists and p.state or nil
local run = ARGV[5] ~= '' and ARGV[5] or p.run
local data
if not exists then
  -- It was claimed before, and its record is gone.
  local known = run ~= '' and markOf(ARGV[4], run, ARGV[1])
  if known then return { 'ignored', known } end
  local job = redis.call('HMGET', KEYS[4], 'data', 'failedReason')
  if not job[1] then return { 'missing' } end
  if job[2] then return { 'ignored', FAILED } end
  data, p.validUntil = job[1], tonumber(ARGV[6])
end
if p.state == QUEUED and now >= p.validUntil then return { 'ignored', EXPIRED } end
if step(p, { kind = 'cancel' }) == 'ignored' then return { 'ignored', p.state } end

local fields = { 's', p.state, 'h', told(p.story, p.state, now, tonumber(ARGV[2]), 'by hand') }
if not exists then
  for i = 7, #ARGV do fields[#fields + 1] = ARGV[i] end
  fields[#fields + 1] = 'p'
  fields[#fields + 1] = data
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[5], ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])

keepCampaign(ARGV[4], run, tonumber(ARGV[3]))
count(ARGV[4], run, ARGV[1], before, p.state)
return { 'done', p.state }
