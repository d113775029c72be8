-- Gives back what was taken, as of the last change: what drained since then would not have, had it not been taken.
-- ARGV[2]: the take, packed. ARGV[3]: its window and its epoch.
local value, arg = call('GET', KEYS[1]), ARGV[2]
if not value then return 0 end
local window, epoch = unpack_from('<I8I8', ARGV[3])
if byte(arg) < 3 then
  local kind, _, _, cost, tokens, per = unpack_from('<BBBI8I8I8', arg)
  local b = bucket_read(value, kind, tokens)
  if b == nil then return corrupt() end
  if not b or b.epoch ~= epoch or max(now, b.at) >= b.expires then return 0 end
  b.kind = kind
  b.owed = max(0, b.owed - min(EXACT, cost * per))
  b.consumed, b.lift = max(0, b.consumed - cost), min(b.lift, b.owed)
  call('SET', KEYS[1], bucket_pack(b), 'KEEPTTL')
else
  local _, _, _, cost = unpack_from('<BBBI8', arg)
  local w = window_read(value)
  if w == nil then return corrupt() end
  if not w or w.epoch ~= epoch or w.start ~= window or max(now, w.start) >= w.expires then return 0 end
  w.own = max(0, w.own - cost)
  call('SET', KEYS[1], window_pack(w), 'KEEPTTL')
end
return 0
