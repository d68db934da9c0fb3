-- What is said of the price of a message, as it stands in its record: when it was said (base 36), then two characters or JSON.
-- src/model/messages/dated-pricing.ts writes and reads it. Included by the scripts that write it.

local function pricedAt(stored)
  local brace = string.find(stored, '{', 1, true)
  return tonumber(string.sub(stored, 1, brace and brace - 1 or -3), 36) or 0
end

-- Whether this was said later than what is known. Of two at one time always the same counts, in whatever order they come.
local function isPricedLater(stored, known)
  if not known then return true end
  local at, before = pricedAt(stored), pricedAt(known)
  if at == before then return stored > known end
  return at > before
end

-- What may stay of one who was erased: the words that everybody knows, none of which names a person.
local function withoutExtras(stored)
  local brace = string.find(stored, '{', 1, true)
  if not brace then return stored end
  local isRead, said = pcall(cjson.decode, string.sub(stored, brace))
  local kept = {}
  for _, field in ipairs({ 'billable', 'pricing_model', 'type', 'category' }) do
    local value = isRead and said[field]
    if value ~= nil then kept[field] = value end
  end
  return next(kept) ~= nil and string.sub(stored, 1, brace - 1) .. cjson.encode(kept) or nil
end
