-- Takes note of the parts in ARGV[4] and on; `told` is what of them is new, in units. Of a part never told of before
-- that is what would still be owed had it drained since its epoch; see Terms::drained. The field ' ' says when the
-- ledger tells nothing any more.
local ledger, ids = KEYS[2], {' '}
for i = 4, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
local found = call('HMGET', ledger, unpack(ids))
if at >= (tonumber(found[1] or 0) or 0) then
  call('DEL', ledger)
  found = {}
end
local applied, told = {}, 0
for i = 4, #ARGV, 3 do
  local id, total = ARGV[i], tonumber(ARGV[i + 1])
  local before = applied[id] or tonumber(found[(i - 4) / 3 + 2] or nil)
  if before then
    told = min(EXACT, told + max(0, total - before))
    applied[id] = max(total, before)
  else
    local age = max(0, at - ARGV[i + 2])
    local periods = floor(age / per)
    local rest = floor(floor((age - periods * per) / coarse) * tokens / max(1, floor(per / coarse)))
    told = min(EXACT, told + min(burst, max(0, total - min(EXACT, periods * tokens) - rest)))
    applied[id] = total
  end
end
local fields = {' ', at + ceil(full / tokens) + stale_after + 60000000}
for id, total in pairs(applied) do
  fields[#fields + 1] = id
  fields[#fields + 1] = total
end
call('HSET', ledger, unpack(fields))
if call('HLEN', ledger) > 257 then
  call('DEL', ledger)
  call('HSET', ledger, unpack(fields))
end
call('PEXPIRE', ledger, max(0, ceil((fields[2] - now) / 1000)) + grace)
told = min(EXACT, told * per)
