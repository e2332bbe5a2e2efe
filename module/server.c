/* Which server this is. See server.h. */

#include "module/server.h"

#include <stddef.h>

#define VALKEY_OPTION_SLOT_MIGRATION (1 << 5)
#define VALKEY_SLOT_IMPORT (1 << 25)
#define CONFIG_UNPREFIXED (1U << 9)

bool server_is_new_enough(void) {
    return RedisModule_RegisterStringConfig && RedisModule_SetCommandInfo &&
           RedisModule_GetServerVersion && RedisModule_TryAlloc;
}

/* Valkey's own version, 0 on Redis. Valkey offers each function under a name of its own too. */
static int valkey_version(void) {
    int (*version)(void) = NULL;
    RedisModule_GetApi("ValkeyModule_GetServerVersion", (void *)&version);
    return version ? version() : 0;
}

int server_slot_migration_option(void) {
    return valkey_version() >= 0x090000 ? VALKEY_OPTION_SLOT_MIGRATION : 0;
}

int server_slot_import_flag(void) {
    return valkey_version() >= 0x090000 ? VALKEY_SLOT_IMPORT : 0;
}

unsigned server_unprefixed_flag(void) {
    if (valkey_version() > 0) return 0;
    return RedisModule_GetServerVersion() >= 0x080000 ? CONFIG_UNPREFIXED : 0;
}
