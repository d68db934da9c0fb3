#!lua flags=allow-oom
-- Moves an endpoint's cursors in its outboxes, by compare-and-set. Refused when one of them has moved: another worker delivers to
-- the endpoint now, and its cursors must not go back. Allowed when Redis is full: what was delivered would be delivered again and again.
--
-- Keys:
--   cursors   HASH  outbox -> entry
--   endpoint  HASH  the endpoint
-- Arguments:
--   moves     {{source, from ('' = none yet), to}, ...}
-- Output: 1, or 0 when they were not moved
local cursors, endpoint = unpack(KEYS)
local moves = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
if redis.call('EXISTS', endpoint) == 0 then return 0 end
for _, move in ipairs(moves) do
  if (redis.call('HGET', cursors, move[1]) or '') ~= move[2] then return 0 end
end
for _, move in ipairs(moves) do redis.call('HSET', cursors, move[1], move[3]) end
return 1
