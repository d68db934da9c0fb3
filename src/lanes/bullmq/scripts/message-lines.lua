-- Jobs that leave the line of their lane in one step: the LIST `waiting`, or behind it the ZSET `prioritized`; `active` are those whose
-- messages are being sent. Included by scripts that name these keys so.

-- Jobs to take out of the line at the end of the step, to make active, and to delete.
local fromList, fromSet, nowActive, unwanted = {}, {}, {}, {}

-- The job leaves its `place` in line: its score in the ZSET, or true for the LIST.
local function leaveLine(id, place, isActive)
  local from = place == true and fromList or fromSet
  from[#from + 1] = id
  if isActive then nowActive[#nowActive + 1] = id end
end

local function writeLines()
  if #fromList > 0 then
    local isWanted = {}
    for _, id in ipairs(fromList) do isWanted[id] = true end
    local isTail = true
    for _, id in ipairs(redis.call('LRANGE', waiting, -#fromList, -1)) do isTail = isTail and isWanted[id] end
    if isTail then
      redis.call('RPOP', waiting, #fromList)
    else
      for _, id in ipairs(fromList) do redis.call('LREM', waiting, -1, id) end
    end
  end
  if #fromSet > 0 then redis.call('ZREM', prioritized, unpack(fromSet)) end
  if #nowActive > 0 then redis.call('LPUSH', active, unpack(nowActive)) end
  if #unwanted > 0 then redis.call('DEL', unpack(unwanted)) end
end
