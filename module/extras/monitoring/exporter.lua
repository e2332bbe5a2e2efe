-- INFO bf for redis_exporter: -script exporter.lua gives redis_script_values{key="bf_filters"} etc.
local pairs_of_fields = {}
for name, value in string.gmatch(redis.call('INFO', 'bf'), '(bf_[%w_]+):(%d+)') do
    pairs_of_fields[#pairs_of_fields + 1] = name
    pairs_of_fields[#pairs_of_fields + 1] = value
end
return pairs_of_fields
