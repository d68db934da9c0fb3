#!lua
-- Stores templates from a list read at WhatsApp. A template is left as it is where a later list has been stored meanwhile, or
-- where another account at WhatsApp owns it and still has it.
--
-- Keys:
--   templates  HASH  `<name>/<language>` -> definition, and `listed <name>/<language>` -> `<at> <began> <waba> <here> <quality>`
-- Arguments:
--   waba       the account at WhatsApp
--   at         when the list was read, by WhatsApp's clock (ms)
--   began      when the sync that reads it began (ms)
-- Arguments of each:
--   field      `<name>/<language>`
--   text       the definition
--   quality    a word, or `-`
-- Output: of each 'new', 'changed', 'same', 'older' or 'of_another'
local templates = unpack(KEYS)
local waba, at, began = unpack(cmsgpack.unpack(ARGV[1]), 1, 3)
local each = cmsgpack.unpack(ARGV[2])
local results = {}
for i = 1, #each do
  local field, text, quality = unpack(each[i], 1, 3)
  local listed = redis.call('HGET', templates, PREFIX.listed .. field)
  local knownAt, owner, here = string.match(listed or '', '^(%d+) %d+ (%d+) (%d)')
  if owner and owner ~= waba and here == '1' then
    results[i] = 'of_another'
  elseif owner == waba and tonumber(knownAt) > at then
    results[i] = 'older'
  else
    local known = redis.call('HGET', templates, field)
    results[i] = not known and 'new' or (known == text and 'same' or 'changed')
    redis.call('HSET', templates, field, text,
      PREFIX.listed .. field, string.format('%.0f %.0f %s 1 %s', at, began, waba, quality))
  end
end
return results
