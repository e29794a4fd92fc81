// SPDX-License-Identifier: Apache-2.0
/*
 * Preloaded into smbd: a directory is listed without names that are not UTF-8.
 *
 * vfs_readdirname() of Samba 4.25 ends a listing at the first name that vfs_catia cannot translate, so one such name,
 * which any NFS client can make, would hide all after it from SMB clients. Without catia smbd skips the name by itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

static bool is_utf8(const unsigned char *s)
{
	while (*s) {
		unsigned int least, value = *s++;
		int more;

		if (value < 0x80)
			continue;
		if (value >= 0xC2 && value <= 0xDF) {
			more = 1;
			least = 0x80;
			value &= 0x1F;
		} else if (value >= 0xE0 && value <= 0xEF) {
			more = 2;
			least = 0x800;
			value &= 0x0F;
		} else if (value >= 0xF0 && value <= 0xF4) {
			more = 3;
			least = 0x10000;
			value &= 0x07;
		} else {
			return false;
		}
		for (; more; more--) {
			if ((*s & 0xC0) != 0x80)
				return false;
			value = value << 6 | (*s++ & 0x3F);
		}
		if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
			return false;
	}
	return true;
}

struct dirent *readdir(DIR *dir)
{
	static struct dirent *(*next)(DIR *);
	struct dirent *entry;

	if (next == NULL)
		next = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
	do {
		entry = next(dir);
	} while (entry != NULL && !is_utf8((const unsigned char *)entry->d_name));
	return entry;
}
