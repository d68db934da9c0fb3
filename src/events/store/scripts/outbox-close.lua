-- Closes an outbox, with all that is in it, unless somebody has opened it since it was marked.
--
-- Keys:
--   outbox   STREAM  events
--   closing  STRING  who is about to close it
-- Arguments:
--   by       who closes it
local outbox, closing = unpack(KEYS)
local by = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('GET', closing) == by then redis.call('DEL', outbox, closing) end
