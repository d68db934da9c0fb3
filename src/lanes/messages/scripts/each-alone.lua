-- Takes as many messages as a step has, each like `resultOf`: a function for each of them would take long.
local function eachAlone(count, take)
  local results, i = {}, 1
  local function takeOn()
    while i <= count do
      results[i] = take(i)
      i = i + 1
    end
  end
  while i <= count do
    local ok, failure = pcall(takeOn)
    if not ok then
      results[i] = { 'error', type(failure) == 'table' and failure.err or tostring(failure) }
      i = i + 1
    end
  end
  return results
end

-- Takes the i-th message of a step. Returns the result of `take`, or {'error', text} when it fails, so that the others go on.
local function resultOf(take, i)
  local ok, result = pcall(take, i)
  return ok and result or { 'error', type(result) == 'table' and result.err or tostring(result) }
end
