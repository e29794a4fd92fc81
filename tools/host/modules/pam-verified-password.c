// SPDX-License-Identifier: Apache-2.0
/*
 * A module of PAM: a password that was verified a moment ago is not asked for again when it has to be changed at once.
 *
 * libpam 1.7 forgets the password between pam_authenticate() and pam_chauthtok() (_pam_sanitize()), so pam_unix asks for it as
 * "Current password". This module keeps it between the two calls, where no other code sees it, and hands it to pam_unix, which
 * verifies it again. It decides nothing: whatever happens, the other modules go on as they would without it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <security/pam_modules.h>

#define KEY "millrace-verified-password"
#define UNUSED __attribute__((unused))

static void wipe(UNUSED pam_handle_t *pamh, void *password, UNUSED int status)
{
	if (password == NULL)
		return;
	explicit_bzero(password, strlen(password));
	free(password);
}

int pam_sm_authenticate(pam_handle_t *pamh, UNUSED int flags, UNUSED int argc, UNUSED const char **argv)
{
	const void *password = NULL;
	char *kept;

	if (pam_get_item(pamh, PAM_AUTHTOK, &password) != PAM_SUCCESS || password == NULL)
		return PAM_IGNORE;
	kept = strdup(password);
	if (kept != NULL && pam_set_data(pamh, KEY, kept, wipe) != PAM_SUCCESS)
		wipe(pamh, kept, 0);
	return PAM_IGNORE;
}

/* Called once the user is in: a session lasts for hours, and nothing asks for the password any more. */
int pam_sm_setcred(pam_handle_t *pamh, UNUSED int flags, UNUSED int argc, UNUSED const char **argv)
{
	pam_set_data(pamh, KEY, NULL, NULL);
	return PAM_IGNORE;
}

int pam_sm_chauthtok(pam_handle_t *pamh, int flags, UNUSED int argc, UNUSED const char **argv)
{
	const void *password = NULL;

	if (!(flags & PAM_PRELIM_CHECK) || !(flags & PAM_CHANGE_EXPIRED_AUTHTOK))
		return PAM_IGNORE;
	if (pam_get_data(pamh, KEY, &password) == PAM_SUCCESS && password != NULL)
		pam_set_item(pamh, PAM_OLDAUTHTOK, password);
	pam_set_data(pamh, KEY, NULL, NULL);
	return PAM_IGNORE;
}
