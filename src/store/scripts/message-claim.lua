#!lua
-- Claims a message for one attempt, before the request leaves. Refused when Redis is full, on purpose: what cannot be
-- written down must not be sent. Running it twice with the same attempt is harmless.
--
-- KEYS[1] record of the message (HASH)
-- KEYS[2] open messages of the lane (ZSET)      KEYS[3] messages that ended badly (ZSET)
-- KEYS[4] the message's job in BullMQ (HASH)    KEYS[5] rest of the lane, KEYS[6] rest of the recipient (STRING)
-- KEYS[7] messages queued again (ZSET)
-- ARGV[1] ulid        ARGV[2] attempt id          ARGV[3] accepted at (ms)   ARGV[4] valid until (ms)
-- ARGV[5] ms after which the sweep takes the attempt for lost                ARGV[6] retention (ms)
-- ARGV[7] number of the campaign ('' = none)     ARGV[8] what the keys of the lane's campaigns begin with
-- ARGV[9] ms that evidence of another attempt is waited for  ARGV[10] the error of one that was lost, `code|sentence`
-- ARGV[11…] field, value, …: what a new record holds besides
-- Output: {verdict, state letter, attempt id on the record}. The verdict `stopped`: its campaign does not run, nothing
-- may be sent; what was never claimed leaves no trace, so that a resumed campaign can queue it again.
-- {'lane_rests' or 'recipient_rests', state letter, ms to wait}: nothing may be sent, and nothing was written.
-- include message-states
-- include message-rests
local now = redisNowMs()
local p, exists = load(KEYS[1])
local before = exists and p.state or nil

local run, prefix = ARGV[7], ARGV[8]
if run ~= '' and p.state == QUEUED then
  local campaign = redis.call('HGET', prefix .. run, 'state')
  -- Of a campaign that is done, a person may have queued a message again.
  if campaign ~= 'running' and not (campaign == 'done' and exists) then
    if exists and campaign == 'cancelled' then
      step(p, { kind = 'cancel' })
      redis.call('HSET', KEYS[1], 's', p.state, 'h', told(p.story, p.state, now, tonumber(ARGV[3]), ''))
      redis.call('ZREM', KEYS[2], ARGV[1])
      redis.call('ZREM', KEYS[7], ARGV[1])
      count(prefix, run, before, p.state)
    end
    return { 'stopped', p.state, p.attempt }
  end
end

local validMs = tonumber(ARGV[4]) - now
if p.state == QUEUED and validMs > 0 then
  local rests = redis.call('MGET', KEYS[5], KEYS[6])
  if rests[1] and tonumber(rests[1]) > now then return { 'lane_rests', p.state, tonumber(rests[1]) - now } end
  local ms = rests[2] and mustRest(KEYS[6], rests[2], now)
  -- What cannot go in time comes back when it is over, so that it is told then.
  if ms then return { 'recipient_rests', p.state, math.min(ms, validMs) } end
end

local verdict = step(p, { kind = 'claim', attempt = ARGV[2], expired = validMs <= 0 })
if verdict == 'ignored' then return { verdict, p.state, p.attempt } end

local happened, detail = 'c', ARGV[2]
local error = ''
if verdict == 'held' then
  -- Two claims of one job: whoever made the first died with it, or was taken for dead.
  happened, error = 'h', ARGV[10]
elseif p.state == EXPIRED then
  happened, detail = 'x', ''
end
local fields = { 's', p.state, 'a', p.attempt, 'h', told(p.story, happened, now, tonumber(ARGV[3]), detail) }
if not exists then
  for i = 11, #ARGV do fields[#fields + 1] = ARGV[i] end
end
if error ~= '' then
  fields[#fields + 1] = 'e'
  fields[#fields + 1] = error
end
if p.state ~= SENDING then
  -- The content is needed should it be sent again, and lives in the job, which goes away now.
  local data = redis.call('HGET', KEYS[4], 'data')
  if data then
    fields[#fields + 1] = 'p'
    fields[#fields + 1] = data
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
if not exists then redis.call('PEXPIRE', KEYS[1], ARGV[6]) end
count(prefix, run, before, p.state)
if before == QUEUED then redis.call('ZREM', KEYS[7], ARGV[1]) end

if verdict == 'held' then
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[9]), ARGV[1])
elseif p.state == EXPIRED then
  redis.call('ZREM', KEYS[2], ARGV[1])
  redis.call('ZADD', KEYS[3], now, ARGV[1])
else
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[5]), ARGV[1])
end
return { verdict, p.state, p.attempt }
