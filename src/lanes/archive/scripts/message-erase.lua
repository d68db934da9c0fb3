#!lua flags=allow-oom
-- Removes the recipient and the content from the record of a message. Its outcome, times and counts stay, also that WhatsApp holds it: the
-- webhook that ends the hold releases its place. Only for messages that are settled, or wait past their validity: others still need their
-- content. Idempotent.
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
-- WhatsApp's own id contains the number, its text about a failure may repeat it, and a reference may name the person.
redis.call('HDEL', record, FIELD.text, FIELD.filled, FIELD.payload, FIELD.providerId, FIELD.reference)
redis.call('HSET', record, FIELD.to, '')
if f[4] then redis.call('HSET', record, FIELD.problem, string.match(f[4], '^[^|]*') .. '|') end
local priced = f[5] and withoutExtras(f[5])
if priced then redis.call('HSET', record, FIELD.pricing, priced) else redis.call('HDEL', record, FIELD.pricing) end
redis.call('ZREM', polls, ulid)
return 'erased'
