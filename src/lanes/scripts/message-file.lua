#!lua flags=allow-oom
-- Puts a message on the list where its state belongs, and takes it off the others.
--
-- Keys:
--   record       HASH  the message
--   inDoubt      ZSET  messages of the lane in doubt
--   queuedAgain  ZSET  messages of the lane that were queued again
-- Arguments:
--   ulid
-- include ../messages/scripts/message-lifecycle
local record, inDoubt, queuedAgain = unpack(KEYS)
local ulid = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local state, now = redis.call('HGET', record, FIELD.state), redisNowMs()
local function file(list, isOnIt)
  if isOnIt then redis.call('ZADD', list, 'NX', now, ulid) else redis.call('ZREM', list, ulid) end
end
file(inDoubt, state == SENDING or state == UNCONFIRMED)
file(queuedAgain, state == QUEUED)
return 'OK'
