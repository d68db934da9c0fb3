-- Opens an outbox, or keeps one open that was about to be closed. A stream exists only once it has had an entry; this one
-- has no meaning.
--
-- Keys:
--   outbox   STREAM  events
--   closing  STRING  who is about to close it
local outbox, closing = unpack(KEYS)
redis.call('DEL', closing)
if redis.call('EXISTS', outbox) == 0 then redis.call('XADD', outbox, '*', ENTRY.events, '') end
