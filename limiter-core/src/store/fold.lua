-- Takes note of what others have used. ARGV[2]: a peek, packed. ARGV[3]: what is told, packed; absent when it is of
-- another kind of counter. KEYS[2], of buckets: the ledger of totals that were charged already. ARGV[4] and on: id,
-- total and epoch of each part. Reply: now, admitted, window, epoch.
--> prelude
local key, arg, told_now = KEYS[1], ARGV[2], ARGV[3]
local value = call('GET', key)
--> layout
if byte(arg) < 3 then
  --> bucket_open
  if told_now then
    local coarse
    stale_after, rate, blind, coarse = unpack_from('<I8I8I8I8', told_now)
    --> ledger
    charged, lift = charged or 0, lift or 0
    if told >= charged then
      -- A peer can push a bucket at most one full burst below empty.
      owed = min(max(owed, 2 * full), owed + told - charged)
    else
      owed = owed - min(lift, charged - told)
    end
    folded, lift, charged = at, 0, 0
    ends = at + stale_after
    --> bucket_write
  end
  return {now, consumed, 0, epoch}
end
--> fixed_window_open
if told_now then
  --> told_windows
  ends = at + stale_after
  --> fixed_window_write
end
return {now, own, start, epoch}
