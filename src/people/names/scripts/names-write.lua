#!lua
-- Writes entries of names, all of them or none: none when one has changed since it was read. Refused when Redis is full.
--
-- Keys:
--   size     HASH  buckets: how many there are; names: how many names are in them
-- Arguments:
--   buckets  what the keys of the buckets begin with
--   keptMs   how long a bucket is kept after it was written to
-- Arguments of each:
--   digest   of the name
--   before   what is kept, in hexadecimal digits; empty: nothing
--   after    what is kept from now on; empty: nothing
-- Output: 1, or 0 when nothing was written
-- include names-buckets
local size = unpack(KEYS)
local buckets, keptMs = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local each = cmsgpack.unpack(ARGV[2])
local function bytesOf(hex)
  return (hex:gsub('..', function(byte) return string.char(tonumber(byte, 16)) end))
end

local n = tonumber(redis.call('HGET', size, 'buckets') or '1')
local layout = layoutOf(n)
local changes = {}
for i = 1, #each do
  local digest, before, after = unpack(each[i], 1, 3)
  local bucket, field = bucketOf(digest, layout)
  local key = buckets .. bucket
  if (redis.call('HGET', key, field) or '') ~= bytesOf(before) then return 0 end
  changes[i] = { key = key, field = field, before = before, after = after }
end

local new = 0
for _, change in ipairs(changes) do
  if change.after == '' then
    redis.call('HDEL', change.key, change.field)
  else
    redis.call('HSET', change.key, change.field, bytesOf(change.after))
    redis.call('PEXPIRE', change.key, keptMs)
  end
  if change.before == '' and change.after ~= '' then new = new + 1 end
  if change.before ~= '' and change.after == '' then new = new - 1 end
end

-- Splits a bucket in two: some names move into the new one, the others get shorter fields.
local function split()
  local from, of = layout.split, layout.half
  n = n + 1
  layout = layoutOf(n)
  local all, fields = redis.call('HGETALL', buckets .. from), {}
  local keptFor = redis.call('PTTL', buckets .. from)
  redis.call('DEL', buckets .. from)
  for at = 1, #all, 2 do
    local bucket, field = bucketOf(struct.unpack('>I' .. #all[at], all[at]) * of + from, layout)
    fields[bucket] = fields[bucket] or {}
    table.insert(fields[bucket], field)
    table.insert(fields[bucket], all[at + 1])
  end
  for bucket, list in pairs(fields) do
    redis.call('HSET', buckets .. bucket, unpack(list))
    redis.call('PEXPIRE', buckets .. bucket, keptFor)
  end
end

local names = redis.call('HINCRBY', size, 'names', new)
local isGrown = names > n * LOAD
while names > n * LOAD do split() end
if isGrown or new > 0 then redis.call('HSET', size, 'buckets', n) end
redis.call('PEXPIRE', size, keptMs)
return 1
