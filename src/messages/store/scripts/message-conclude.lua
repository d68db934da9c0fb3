#!lua flags=allow-oom
-- Ends a message of a campaign that no claim can end: one whose job was dead-lettered before anybody claimed it, or one
-- whose record is gone before it was settled. Writes a record that says so. Running it twice changes nothing.
--
-- KEYS[1] record of the message (HASH)      KEYS[2] open messages of the lane (ZSET)
-- KEYS[3] messages that ended badly (ZSET)  KEYS[4] the message's job in BullMQ (HASH)
-- ARGV[1] ulid        ARGV[2] `dead` or `gone`          ARGV[3] accepted at (ms)      ARGV[4] retention (ms)
-- ARGV[5] number of the campaign             ARGV[6] what the keys of the lane's campaigns begin with
-- ARGV[7] error, `code|sentence`             ARGV[8...] field, value, ...: what the new record holds besides
-- Output: {'done' or 'ignored', state letter}
-- include message-lifecycle
local p, exists = load(KEYS[1])
if exists then return { 'ignored', p.state } end
local before = markOf(ARGV[6], ARGV[5], ARGV[1])
local state
if ARGV[2] == 'dead' then
  -- Somebody may have queued it again meanwhile.
  if before or redis.call('HEXISTS', KEYS[4], 'failedReason') == 0 then return { 'ignored', before or QUEUED } end
  state = FAILED
else
  if before ~= QUEUED and before ~= SENDING and before ~= UNCONFIRMED then return { 'ignored', before or QUEUED } end
  state = UNKNOWN
end
local now = redisNowMs()
local fields = { 's', state, 'h', told('', state, now, tonumber(ARGV[3]), ''), 'e', ARGV[7] }
for i = 8, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
keepCampaign(ARGV[6], ARGV[5], tonumber(ARGV[4]))
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
count(ARGV[6], ARGV[5], ARGV[1], before, state, state == UNKNOWN)
return { 'done', state }
