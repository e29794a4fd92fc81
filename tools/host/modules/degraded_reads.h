/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Reads of an array that lacks a drive.
 *
 * md sends every read of such an array through the stripe cache, because a read that meets the missing drive needs the
 * rest of its row as well. This asks first: a read that meets no missing drive is handed to the drives, as in an array that
 * is whole. A read that follows another one is so only where its whole rows meet none: their rest will be read next, and
 * would be read from the drives twice. Included by raid5.c, before raid5_make_request().
 */

#include <linux/hash.h>

#define MILLRACE_ENDS_SHIFT 12

/* Where the last reads ended, of all arrays; what is lost of it costs time, and nothing else. */
static u64 millrace_ends[1 << MILLRACE_ENDS_SHIFT];

static u64 *millrace_end(u64 place)
{
	return &millrace_ends[hash_64(place, MILLRACE_ENDS_SHIFT)];
}

/* Whether a read begins where another one ended a short time ago; where it ends itself is kept for the next one. */
static bool millrace_follows(struct r5conf *conf, struct bio *bi)
{
	const u64 of = (unsigned long)conf;
	const u64 begin = of ^ bi->bi_iter.bi_sector;
	const u64 end = of ^ bio_end_sector(bi);
	const bool follows = READ_ONCE(*millrace_end(begin)) == begin;

	WRITE_ONCE(*millrace_end(end), end);
	return follows;
}

/* Whether data from one sector to before another lie on drives that are there and in sync. */
static bool millrace_present(struct r5conf *conf, sector_t at, sector_t end)
{
	/* a power of two */
	const sector_t chunk = conf->chunk_sectors;

	while (at < end) {
		struct md_rdev *rdev;
		int disk;

		raid5_compute_sector(conf, at, 0, &disk, NULL);
		rdev = READ_ONCE(conf->disks[disk].rdev);
		if (!rdev || test_bit(Faulty, &rdev->flags) ||
		    !test_bit(In_sync, &rdev->flags))
			return false;
		at = (at | (chunk - 1)) + 1;
	}
	return true;
}

/**
 * millrace_directly - whether a read of an array that lacks a drive is handed to the drives
 * @conf: the array; it is not being reshaped, and the caller keeps it from being suspended
 * @bi: the read
 *
 * What this returns may be outdated at once: raid5_read_one_chunk() looks at the drive again, and a read that fails goes
 * through the stripe cache. A drive that is being rebuilt counts as missing.
 */
static bool millrace_directly(struct r5conf *conf, struct bio *bi)
{
	const u32 row = conf->chunk_sectors * (conf->raid_disks - conf->max_degraded);
	const bool follows = millrace_follows(conf, bi);
	sector_t begin = bi->bi_iter.bi_sector, end = bio_end_sector(bi), rest;
	u32 inside;

	if (!millrace_present(conf, begin, end))
		return false;
	if (!follows)
		return true;
	rest = begin;
	begin -= sector_div(rest, row);
	rest = end;
	inside = sector_div(rest, row);
	if (inside)
		end += row - inside;
	return millrace_present(conf, begin, end);
}
