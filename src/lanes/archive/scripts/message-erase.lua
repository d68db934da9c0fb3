#!lua flags=allow-oom
-- Takes off the record of a message whom it went to and what it said. What became of it, when, and what it counts for
-- stays, also that WhatsApp holds it: the webhook that ends that gives its place back. Only of one that is settled, or that waits past its validity: nothing else may lose what it would be sent with.
-- Running it twice changes nothing the second time.
--
-- Keys:
--   record  HASH  the message
--   polls   ZSET  messages of the lane to poll
-- Arguments:
--   ulid
--   recipient  as the record has it
-- Output: `erased`; `before`: it was erased already; `other`: it is of somebody else or gone; else the letter of its state
-- include ../../messages/scripts/message-lifecycle
-- include ../../messages/scripts/message-pricing
local record, polls = unpack(KEYS)
local ulid, recipient = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local f = redis.call('HMGET', record, FIELD.to, FIELD.state, FIELD.validUntil, FIELD.problem, FIELD.pricing)
local state = f[2]
if state and f[1] == '' then return 'before' end
if f[1] ~= recipient then return 'other' end
local isOver = state == QUEUED and redisNowMs() >= tonumber(f[3] or '0')
if state == SENDING or state == UNCONFIRMED or (state == QUEUED and not isOver) then return state end
-- WhatsApp's own id has the number in it, and what it said of a failure may repeat it.
redis.call('HDEL', record, FIELD.text, FIELD.filled, FIELD.payload, FIELD.providerId)
redis.call('HSET', record, FIELD.to, '')
if f[4] then redis.call('HSET', record, FIELD.problem, string.match(f[4], '^[^|]*') .. '|') end
local priced = f[5] and withoutExtras(f[5])
if priced then redis.call('HSET', record, FIELD.pricing, priced) else redis.call('HDEL', record, FIELD.pricing) end
redis.call('ZREM', polls, ulid)
return 'erased'
