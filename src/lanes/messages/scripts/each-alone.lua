-- Takes the i-th message of a step. Returns the result of `take`, or {'error', text} when it fails, so that the others go on.
local function resultOf(take, i)
  local ok, result = pcall(take, i)
  return ok and result or { 'error', type(result) == 'table' and result.err or tostring(result) }
end
