-- Takes a contact off every tag and forgets it. Running it again changes nothing.
--
-- Keys:
--   phones  HASH  phone digits -> contact id
--   prefix  of the contacts' keys: only the contact tells which tags it carries
-- Arguments:
--   phone   digits
-- Output: 1 when there was one, else 0
local phones, prefix = unpack(KEYS)
local phone = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
local id = redis.call('HGET', phones, phone)
if not id then return 0 end
local contact = prefix .. ':contact:' .. id
for tag in string.gmatch(redis.call('HGET', contact, 'tags') or '', '[^,]+') do
  redis.call('ZREM', prefix .. ':tag:' .. tag .. ':members', id)
end
redis.call('DEL', contact)
redis.call('HDEL', phones, phone)
return 1
