-- A campaign keeps the state of each of its recipients in a STRING, half a byte each, in the order of its list: 0 for one
-- whose message was never claimed, else the place of the state's letter in ORDER, 15 where it cannot be known any more
-- (src/recipients/recipient-states.ts). It outlives the records, so that nobody is sent to again because a record has
-- expired.

-- A recipient's place in the list, from the id of the message (src/model/campaigns/message-ids.ts).
local function digitOf(byte)
  -- 0 to 9, then the letters but I, L, O and U.
  return byte < 58 and byte - 48
    or byte - 55 - (byte > 85 and 4 or byte > 79 and 3 or byte > 76 and 2 or byte > 73 and 1 or 0)
end
-- Kept, because one step asks several times for each message.
local placesOf = {}
local function placeOf(ulid)
  local place = placesOf[ulid]
  if place then return place end
  local a, b, c, d, e = string.byte(ulid, 11, 15)
  place = (((digitOf(a) * 32 + digitOf(b)) * 32 + digitOf(c)) * 32 + digitOf(d)) * 32 + digitOf(e)
  placesOf[ulid] = place
  return place
end

-- Bytes that were read, by campaign and place: one step may check a hundred neighbouring recipients.
local BLOCK = 64
local blocks = {}

-- The letter of the state that the campaign kept of a recipient when this step began; nil for one whose message was never
-- claimed.
local function recipientStateOf(prefix, run, ulid)
  local place = placeOf(ulid)
  local byteAt = math.floor(place / 2)
  local from = byteAt - byteAt % BLOCK
  local ofRun = blocks[run] or {}
  blocks[run] = ofRun
  ofRun[from] = ofRun[from] or redis.call('GETRANGE', prefix .. run .. SUFFIX.states, from, from + BLOCK - 1)
  local byte = string.byte(ofRun[from], byteAt - from + 1) or 0
  local state = place % 2 == 0 and math.floor(byte / 16) or byte % 16
  if state == 0 then return nil end
  local letter = string.sub(ORDER, state, state)
  return letter == '' and UNKNOWN or letter
end
