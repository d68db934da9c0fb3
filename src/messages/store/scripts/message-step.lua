#!lua flags=allow-oom
-- Takes any step but a claim, a cancel and a requeue, which have scripts of their own. Allowed when Redis is full: what happened to a message must be written down, or a full
-- Redis would turn sent messages into doubled ones. Every step is fenced by the attempt and harmless when repeated.
--
-- KEYS[1] record of the message (HASH)
-- KEYS[2] open messages of the lane (ZSET)      KEYS[3] messages to poll (ZSET)
-- KEYS[4] messages that ended badly (ZSET)      KEYS[5] the message's job in BullMQ (HASH)
-- KEYS[6] messages queued again (ZSET)
-- ARGV[1] ulid         ARGV[2] kind of step     ARGV[3] attempt id        ARGV[4] accepted at (ms)
-- ARGV[5] evidence: status letter; unsent: '1' when it counts; decide: never, once or safe
-- ARGV[6] most tries   ARGV[7] detail for the history    ARGV[8] provider's id of the message ('' = none)
-- ARGV[9] error, `code|sentence` ('' = none)    ARGV[10] ms to wait for evidence once unconfirmed
-- ARGV[11] ms until the first status poll ('' = no polling)      ARGV[12] when it happened (ms; '' = now)
-- ARGV[13] not used    ARGV[14] what the keys of the lane's campaigns begin with
-- ARGV[15] unsent: who rests now, `lane`, `recipient` or ''        ARGV[16] key of that rest       ARGV[17] ms, at least
-- Output: {verdict, state letter, ms that a message to a resting recipient must wait}; {'missing'} without a record
-- include message-lifecycle
-- include message-cooldowns
local now = redisNowMs()
local p, exists = load(KEYS[1])
if not exists then return { 'missing' } end
local kind, attempt, option, detail = ARGV[2], ARGV[3], ARGV[5], ARGV[7]
-- Somebody may have given it another job meanwhile.
if kind == 'give_up' and option == 'dead' and redis.call('HEXISTS', KEYS[5], 'failedReason') == 0 then
  return { 'ignored', p.state }
end
local before, counting = p.state, p.attempt
local verdict = step(p, {
  kind = kind,
  attempt = attempt,
  status = option,
  counts = option == '1',
  rule = option,
  maxTries = tonumber(ARGV[6]),
  expired = now >= p.validUntil,
})
-- The provider's id of the attempt that counts is worth keeping even when the state knew already, as when a webhook
-- overtook the answer.
local providerId = ARGV[8] ~= '' and p.attempt == attempt and ARGV[8]
if verdict == 'ignored' then
  if providerId then redis.call('HSET', KEYS[1], 'w', providerId) end
  return { verdict, p.state }
end

-- Read before it is written: no step that leads to unknown brings an error of its own, so that it is the same one on
-- the way in and on the way out.
local cause = (before == UNKNOWN or p.state == UNKNOWN) and string.sub(redis.call('HGET', KEYS[1], 'e') or '', 1, 12)
local isLost = cause == 'worker_lost|' or cause == 'record_lost|'

-- Nothing that we are told has happened later than now.
local at = ARGV[12] ~= '' and math.min(tonumber(ARGV[12]), now) or now
-- Of another attempt than the one that counts, or of that one while another is known to be sent: the state stays, and
-- with it all lists.
if kind == 'evidence' and p.state == before then
  local story = told(p.story, option, at, tonumber(ARGV[4]), detail)
  redis.call('HSET', KEYS[1], 'a', p.attempt, 'b', p.others, 'h', story)
  -- That was the provider's id of the attempt that has failed.
  if p.attempt ~= counting then redis.call('HDEL', KEYS[1], 'w') end
  return { verdict, p.state }
end

local set, gone = {}, {}
local function write(field, value)
  set[#set + 1] = field
  set[#set + 1] = value
end
local function drop(field)
  if p.has[field] then gone[#gone + 1] = field end
end

local letter = p.state
if kind == 'unsent' then letter = p.state == FAILED and FAILED or 'u' end
write('s', p.state)
write('a', p.attempt)
write('h', told(p.story, letter, at, tonumber(ARGV[4]), detail))
if providerId then write('w', providerId) end
if p.tries > 0 then write('n', p.tries) else drop('n') end
if p.repeats > 0 then write('o', p.repeats) end
if p.others ~= '' then write('b', p.others) else drop('b') end
if ARGV[9] ~= '' then
  write('e', ARGV[9])
elseif RANK[p.state] or p.state == QUEUED then
  drop('e')
end

-- The content is needed for another try and lives in the job, which goes away once it is done. What is only `sent` can
-- still fail, and is sent again by hand then; of a campaign's message the content can be made once more.
local contentNow = p.has.p
if p.state == DELIVERED or p.state == READ or (p.state == SENT and p.run ~= '') then
  drop('p')
elseif not p.has.p then
  local data = redis.call('HGET', KEYS[5], 'data')
  if data then write('p', data) end
end
redis.call('HSET', KEYS[1], unpack(set))
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
-- Redis never takes a hash back to its compact encoding once a long value was in it: it is written once more.
if RANK[p.state] and p.state ~= SENT and contentNow and #contentNow > 1024 then
  local all, ttl = redis.call('HGETALL', KEYS[1]), redis.call('PTTL', KEYS[1])
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], unpack(all))
  if ttl > 0 then redis.call('PEXPIRE', KEYS[1], ttl) end
end
count(ARGV[14], p.run, ARGV[1], before, p.state, isLost)

-- Two lists, so that attempts in doubt never wait behind a hundred thousand messages that only need a job.
if p.state == UNCONFIRMED then
  redis.call('ZADD', KEYS[2], now + tonumber(ARGV[10]), ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
if p.state == QUEUED then
  -- Its job may be gone: the sweep makes sure that there is one.
  redis.call('ZADD', KEYS[6], kind == 'unsent' and now + 60000 or now, ARGV[1])
elseif before == QUEUED then
  redis.call('ZREM', KEYS[6], ARGV[1])
end

-- Only what was sent is polled, and only what ended badly is listed as such: nothing else need be taken off.
if RANK[p.state] and p.state ~= READ then
  if ARGV[11] ~= '' and not RANK[before] then redis.call('ZADD', KEYS[3], now + tonumber(ARGV[11]), ARGV[1]) end
elseif RANK[before] then
  redis.call('ZREM', KEYS[3], ARGV[1])
end
local ENDED_BADLY = { [FAILED] = true, [UNKNOWN] = true, [EXPIRED] = true, [CANCELLED] = true }
if ENDED_BADLY[p.state] then
  redis.call('ZADD', KEYS[4], now, ARGV[1])
elseif ENDED_BADLY[before] then
  redis.call('ZREM', KEYS[4], ARGV[1])
end

local resting, waitMs = ARGV[15], nil
if resting == 'lane' then
  restLane(ARGV[16], tonumber(ARGV[17]), now, ARGV[9])
elseif resting == 'recipient' then
  waitMs = restRecipient(ARGV[16], tonumber(ARGV[17]), now)
end
return { verdict, p.state, waitMs }
