-- Takes the file that is due the longest of the account that is due the longest, and makes it due again after the lease, in
-- case its worker dies before it settles the file. The account goes behind the others that are due.
--
-- Keys:
--   accounts  ZSET account -> when something of it is due (ms)
--   due       what the key of an account's ZSET begins with
--   tries     the same of its HASH
-- Arguments:
--   leaseMs
--   busy      accounts that are passed over, as text
-- Output: {account, message, tries, id of its file or ''}, or nothing
local accounts, due, tries = unpack(KEYS)
local leaseMs, busy = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local isBusy = {}
for _, account in ipairs(busy) do isBusy[account] = true end
local now = redisNowMs()
for _, account in ipairs(redis.call('ZRANGEBYSCORE', accounts, '-inf', now, 'LIMIT', 0, 100)) do
  if not isBusy[account] then
    local first = redis.call('ZRANGE', due .. account, 0, 0, 'WITHSCORES')
    if not first[1] then
      redis.call('ZREM', accounts, account)
    elseif tonumber(first[2]) > now then
      redis.call('ZADD', accounts, first[2], account)
    else
      redis.call('ZADD', due .. account, now + leaseMs, first[1])
      local following = redis.call('ZRANGE', due .. account, 0, 0, 'WITHSCORES')
      redis.call('ZADD', accounts, math.max(now, tonumber(following[2])), account)
      local known = redis.call('HMGET', tries .. account, first[1], PREFIX.file .. first[1])
      return { account, first[1], known[1] or '0', known[2] or '' }
    end
  end
end
return {}
