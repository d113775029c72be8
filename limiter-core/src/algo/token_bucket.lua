-- A bucket as a level: what is owed, in units, at a time. `tokens` units drain in a microsecond.
local function token_bucket_owed(owed, time, at, tokens)
  return max(0, owed - (at - time) * tokens)
end
