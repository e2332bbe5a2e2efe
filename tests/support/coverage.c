/* For `make coverage`: the tool ends by _exit when something is wrong, which would lose the counts.
 */

#include <gcov.h>

void __real__exit(int status);
void __wrap__exit(int status);

void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}
