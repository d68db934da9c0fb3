#!lua flags=allow-oom
-- Records how an endpoint answered, or disables it. An endpoint that was removed meanwhile stays removed, and the answer of a
-- former address changes nothing. Allowed when Redis is full: an endpoint that fails is spared then, too.
--
-- Keys:
--   endpoint  HASH    the endpoint
--   outbox    STREAM  events of its account, if anybody wants them
-- Arguments:
--   how       `succeeded`, `failed` or `disabled`
--   now       ms
--   longMs    failures for so long without a success disable it
--   id
--   url       the address that answered
--   reason?   of `disabled`
-- Output: 'missing', 'noted', or 'disabled' when it is disabled from now on
local endpoint, outbox = unpack(KEYS)
local how, now, longMs, id, url, reason = unpack(cmsgpack.unpack(ARGV[1]), 1, 6)
local found = redis.call('HMGET', endpoint, 'enabled', 'failing_since', 'url')
if not found[1] then return 'missing' end
if found[3] ~= url then return 'noted' end
local at = string.format('%.0f', now)
if how == 'succeeded' then
  redis.call('HSET', endpoint, 'last_success_at', at)
  redis.call('HDEL', endpoint, 'failing_since')
  return 'noted'
end
if how == 'failed' then
  if not found[2] then
    redis.call('HSET', endpoint, 'failing_since', at)
    return 'noted'
  end
  if now - tonumber(found[2]) < longMs then return 'noted' end
  reason = 'failing'
end
if found[1] ~= '1' then return 'noted' end
redis.call('HSET', endpoint, 'enabled', '0', 'disabled_for', reason)
if redis.call('EXISTS', outbox) == 1 then
  redis.call('XADD', outbox, '*', ENTRY.events, cjson.encode({ about = 'endpoint', id = id, reason = reason, at = now }))
end
return 'disabled'
