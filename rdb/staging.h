/* The names of staging keys. `bloomport push` and `copy` send a filter to a key in the same cluster
 * slot as the user's, and rename it when it is complete:
 *
 *   user's key    staging key
 *   seen          {seen}:bloomport-push:0123...        the key has no braces
 *   {a}:b         {a}:b:bloomport-push:0123...         it has a part in braces
 *   a}b           bloomport-push:0123...               braces cannot be put round it
 *
 * The digits are hexadecimal, STAGING_DIGITS of them. */

#ifndef BLOOMPORT_STAGING_H
#define BLOOMPORT_STAGING_H

#define STAGING_MARK "bloomport-push:"
#define STAGING_DIGITS 32

#endif
