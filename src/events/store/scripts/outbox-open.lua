-- Opens an outbox, or keeps it open that was about to be closed. An empty stream is there as soon as one entry was; the
-- entry itself says nothing.
--
-- Keys:
--   outbox   STREAM  events
--   closing  STRING  who is about to close it
local outbox, closing = unpack(KEYS)
redis.call('DEL', closing)
if redis.call('EXISTS', outbox) == 0 then redis.call('XADD', outbox, '*', 'e', '') end
