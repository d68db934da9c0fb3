-- Takes the places of a campaign off its lane. Included by campaign-move.lua, when a campaign is paused, cancelled or done,
-- and by lane-drop.lua.

-- Returns the first of them in the campaign's list; nil when there was none. A lane has some thousand at most.
local function dropPlaces(places, turns, run)
  local begin, names, first = run .. '/', {}, nil
  for _, name in ipairs(redis.call('ZRANGE', places, 0, -1)) do
    if string.sub(name, 1, #begin) == begin then
      names[#names + 1] = name
      local place = tonumber(string.sub(name, #begin + 1))
      first = math.min(first or place, place)
    end
  end
  for i = 1, #names, 1000 do redis.call('ZREM', places, unpack(names, i, math.min(i + 999, #names))) end
  redis.call('ZREM', turns, run)
  return first
end
