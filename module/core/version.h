/* The version of the module and of the tool, which are released together. */

#ifndef BLOOMPORT_VERSION_H
#define BLOOMPORT_VERSION_H

#define VERSION_MAJOR 0
#define VERSION_MINOR 2
#define VERSION_PATCH 0

#endif
