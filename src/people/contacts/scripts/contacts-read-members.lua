-- Reads members of a tag with their contacts, in the order they joined.
--
-- Keys:
--   members  ZSET  contact id by membership id
--   prefix   of the contacts' keys: the members determine which contacts are read
-- Arguments:
--   after    membership id after which to begin, as text
--   most     members to read
-- Output: one list per member: contact id, membership id, phone, name, email, tags
local members, prefix = unpack(KEYS)
local after, most = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
local found = redis.call('ZRANGEBYSCORE', members, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local read = {}
for i = 1, #found, 2 do
  local contact = redis.call('HMGET', prefix .. SUFFIX.contact .. found[i], 'phone', 'name', 'email', 'tags')
  read[#read + 1] = { found[i], found[i + 1], contact[1], contact[2], contact[3], contact[4] }
end
return read
