-- Deletes a contact, named by its id or by its phone number: its record, its number and its place in each of its tags.
-- Running it again changes nothing.
--
-- Keys:
--   phones   HASH  phone digits -> contact id
--   prefix   of the contacts' keys: only the contact's record lists its tags
-- Arguments:
--   id?      of the contact, as text
--   phone?   digits; without an id
-- Output: 1 when it was there, else 0
local phones, prefix = unpack(KEYS)
local id, phone = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)
id = id or redis.call('HGET', phones, phone)
if not id then return 0 end
local contact = prefix .. SUFFIX.contact .. id
local before = redis.call('HMGET', contact, 'phone', 'tags')
phone = phone or before[1]
if not phone then return 0 end
if redis.call('HGET', phones, phone) == id then redis.call('HDEL', phones, phone) end
for tag in string.gmatch(before[2] or '', '%d+') do
  redis.call('ZREM', prefix .. SUFFIX.tag .. tag .. SUFFIX.members, id)
end
redis.call('DEL', contact)
return 1
