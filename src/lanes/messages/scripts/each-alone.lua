-- What `take` comes to for the i-th of a step; {'error', text} where it failed: a fault of one harms no other.
local function resultOf(take, i)
  local ok, result = pcall(take, i)
  return ok and result or { 'error', type(result) == 'table' and result.err or tostring(result) }
end
