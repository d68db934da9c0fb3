#!lua flags=allow-oom
-- Puts a message on the list where its state belongs, and takes it off the others.
--
-- KEYS[1] record of the message (HASH)    KEYS[2] messages in doubt (ZSET)    KEYS[3] messages queued again (ZSET)
-- ARGV[1] ulid
-- include ../../messages/store/scripts/message-lifecycle
local state, now = redis.call('HGET', KEYS[1], 's'), redisNowMs()
local isOpen, isQueued = state == SENDING or state == UNCONFIRMED, state == QUEUED
if isOpen then redis.call('ZADD', KEYS[2], 'NX', now, ARGV[1]) else redis.call('ZREM', KEYS[2], ARGV[1]) end
if isQueued then redis.call('ZADD', KEYS[3], 'NX', now, ARGV[1]) else redis.call('ZREM', KEYS[3], ARGV[1]) end
return 'OK'
