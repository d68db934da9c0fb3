-- Reads members of a tag with their contacts, in the order they joined.
-- KEYS[1] ZSET of the tag's members: contact id by membership id
-- KEYS[2] prefix of the contacts' keys: only the members tell which contacts are read
-- ARGV[1] membership id after which to begin
-- ARGV[2] most members to read
-- Output: one list per member: contact id, membership id, phone, name, email, tags
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local read = {}
for i = 1, #members, 2 do
  local contact = redis.call('HMGET', KEYS[2] .. ':contact:' .. members[i], 'phone', 'name', 'email', 'tags')
  read[#read + 1] = { members[i], members[i + 1], contact[1], contact[2], contact[3], contact[4] }
end
return read
