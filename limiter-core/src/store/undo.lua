-- Gives back what was taken, as of the last change: what drained since then would not have, had it not been taken.
-- ARGV[2]: the take, packed. ARGV[3]: its window and its epoch.
--> prelude
local key, arg = KEYS[1], ARGV[2]
local value = call('GET', key)
--> layout
if not value then return 0 end
local window, epoch = unpack_from('<I8I8', ARGV[3])
local kind, _, _, cost = unpack_from('<BBBI8', arg)
local state
if kind > 2 then
  if layout ~= 3 then return 0 end
  local _, expires, life, start, own = unpack_from('<BI7I7I7I7', value)
  if life ~= epoch or start ~= window or max(now, start) >= expires then return 0 end
  state = pack('<BI7I7I7I7', 3, expires, life, start, max(0, own - cost))
else
  if layout ~= kind then return 0 end
  local tokens, per = unpack_from('<I8I8', arg, 12)
  local _, expires, consumed, life, time, level, fraction =
    unpack_from(kind == 1 and '<BI7I7I7I7I7' or '<BI7I7I7I7I7I7', value)
  if life ~= epoch or max(now, time) >= expires then return 0 end
  local owed = kind == 1 and level or (level - time) * tokens + fraction
  owed, consumed = max(0, owed - min(EXACT, cost * per)), max(0, consumed - cost)
  if kind == 1 then
    state = pack('<BI7I7I7I7I7', 1, expires, consumed, life, time, owed)
  else
    local whole = floor(owed / tokens)
    state = pack('<BI7I7I7I7I7I7', 2, expires, consumed, life, time, time + whole, owed - whole * tokens)
  end
end
call('SET', key, state .. string.sub(value, plain + 1), 'KEEPTTL')
return 0
