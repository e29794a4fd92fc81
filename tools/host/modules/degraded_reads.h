/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * Reads of an array that lacks a drive.
 *
 * md sends every read of such an array through the stripe cache, because a read that meets the missing drive needs the
 * rest of its stripe as well. This asks first: a read that meets no missing drive is handed to the drives, as in an array
 * that is whole. Included by raid5.c, before raid5_make_request().
 */

/**
 * millrace_on_present_drives - whether all of a read lies on drives that are there and in sync
 * @conf: the array; it is not being reshaped, and the caller keeps it from being suspended
 * @bi: the read
 *
 * What this returns may be outdated at once: raid5_read_one_chunk() looks at the drive again, and a read that fails goes
 * through the stripe cache. A drive that is being rebuilt counts as missing.
 */
static bool millrace_on_present_drives(struct r5conf *conf, struct bio *bi)
{
	const sector_t chunk = conf->chunk_sectors;
	sector_t at = bi->bi_iter.bi_sector;

	while (at < bio_end_sector(bi)) {
		struct md_rdev *rdev;
		int disk;

		raid5_compute_sector(conf, at, 0, &disk, NULL);
		rdev = READ_ONCE(conf->disks[disk].rdev);
		if (!rdev || test_bit(Faulty, &rdev->flags) ||
		    !test_bit(In_sync, &rdev->flags))
			return false;
		/* the size of a chunk is a power of two */
		at = (at | (chunk - 1)) + 1;
	}
	return true;
}
