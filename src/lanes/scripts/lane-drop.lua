#!lua flags=allow-oom
-- Takes the places of a campaign off its lane that nobody can send to: its record is gone, or cannot be read. A campaign
-- that ceases to run does so in the step that moves it (campaign-move.lua). Doing it again changes nothing.
--
-- Keys:
--   places  ZSET    places of campaigns that wait
--   turns   ZSET    their turns
-- Arguments:
--   run     number of the campaign
-- Output: 'OK'
-- include places-drop
local places, turns = unpack(KEYS)
local run = unpack(cmsgpack.unpack(ARGV[1]), 1, 1)
dropPlaces(places, turns, run)
return 'OK'
