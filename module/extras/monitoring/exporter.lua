-- For redis_exporter, -script exporter.lua: INFO bf, and BF.STATS of chosen keys.
--
--   redis_script_values{key="bf_filters"}                      a field of INFO bf
--   redis_script_values{key="bf_key:utilisation:visitors"}     a field of the key `visitors`
--
-- Name the keys here, in your own copy of this file: local WATCHED = {'visitors', 'seen:today'}.
-- Keys that are missing, hold no filter, or live on another node of a cluster are left out.
local WATCHED = {}

local FIELDS = {
    ['items'] = 'items', ['capacity'] = 'capacity', ['utilisation'] = 'utilisation', ['bytes'] = 'bytes',
    ['promised error rate'] = 'promised_error_rate', ['current error rate'] = 'current_error_rate',
}
-- The larger the number, the sooner somebody should look.
local STATES = {
    ['ok'] = 0, ['clock behind'] = 1, ['many layers'] = 2, ['nearly full'] = 3, ['full'] = 4, ['overfilled'] = 5,
}

local values = {}

local function add(name, value)
    values[#values + 1] = name
    values[#values + 1] = type(value) == 'number' and string.format('%.17g', value) or value
end

local function add_key(key)
    local stats = redis.pcall('BF.STATS', key)
    if stats.err then return end
    for i = 1, #stats, 2 do
        local name = type(stats[i]) == 'table' and stats[i].ok or stats[i]
        local value = stats[i + 1]
        if FIELDS[name] then add('bf_key:' .. FIELDS[name] .. ':' .. key, value) end
        if name == 'layers' then add('bf_key:layers:' .. key, #value) end
        if name == 'state' then add('bf_key:state:' .. key, STATES[value]) end
    end
end

for name, value in string.gmatch(redis.call('INFO', 'bf'), '(bf_[%w_]+):(%d+)') do add(name, value) end
for _, key in ipairs(WATCHED) do add_key(key) end
return values
