-- Reads the layout of `value`, if there is one: 1 a token bucket, 2 a GCRA, 3 a fixed window. `plain` is its size
-- without what is known of others.
local layout, size, plain
if value then
  layout, size = byte(value), #value
  local told = 42
  if layout == 1 then
    plain = 36
  elseif layout == 2 then
    plain = 43
  elseif layout == 3 then
    plain, told = 29, 98
  end
  if not plain or size ~= plain and size ~= plain + told then return redis.error_reply(CORRUPT) end
end
