-- Deletes a contact: its record, its phone number and its place in each of its tags. Running it again changes nothing.
--
-- Keys:
--   contact  HASH  the contact
--   phones   HASH  phone digits -> contact id
--   prefix   of the contacts' keys: only the contact tells which tags it carries
-- Arguments:
--   id       of the contact, as text
-- Output: 1 when it was there
local contact, phones, prefix = unpack(KEYS)
local id = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local before = redis.call('HMGET', contact, 'phone', 'tags')
if not before[1] then
  return 0
end
if redis.call('HGET', phones, before[1]) == id then
  redis.call('HDEL', phones, before[1])
end
for tag in string.gmatch(before[2] or '', '%d+') do
  redis.call('ZREM', prefix .. ':tag:' .. tag .. ':members', id)
end
redis.call('DEL', contact)
return 1
