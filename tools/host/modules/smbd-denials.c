// SPDX-License-Identifier: Apache-2.0
/*
 * A VFS module of Samba: an access list with an entry that denies access is refused instead of stored.
 *
 * POSIX access lists have no such entries. set_nt_acl() of Samba 4.25 (source3/smbd/posix_acls.c) maps them to missing
 * permissions of other entries, drops what has no such form, and reports success: Windows would show a file as closed
 * that is open. docs/decisions/0013-denials-are-refused.md.
 *
 * Samba has no public header of its VFS. What is declared here is of version 53 of its interface, which each release
 * counts up: Samba loads no module of another version, and the shares that name it do not open then.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gen_ndr/security.h>
#include <samba/version.h>

#if SAMBA_VERSION_MAJOR != 4 || SAMBA_VERSION_MINOR != 25
#error "compare struct vfs_fn_pointers in source3/include/vfs.h of this Samba with INTERFACE, FUNCTIONS and FSET_NT_ACL"
#endif

/* source3/include/vfs.h of Samba 4.25: SMB_VFS_INTERFACE_VERSION, and the places in struct vfs_fn_pointers */
#define INTERFACE 53
#define FUNCTIONS 97
#define FSET_NT_ACL 81

/* [MS-ERREF] 2.3.1; Windows shows "The request is not supported." */
#define NOT_SUPPORTED 0xC00000BBu

typedef uint32_t NTSTATUS;

struct files_struct;
struct vfs_handle_struct {
	struct vfs_handle_struct *next;
};

NTSTATUS smb_register_vfs(int version, const char *name, const void *functions);
NTSTATUS smb_vfs_call_fset_nt_acl(struct vfs_handle_struct *handle, struct files_struct *fsp, uint32_t sent,
				  const struct security_descriptor *descriptor);
NTSTATUS samba_init_module(void *context);

static bool denies(const struct security_acl *list)
{
	for (uint32_t i = 0; list != NULL && i < list->num_aces; i++) {
		switch (list->aces[i].type) {
		case SEC_ACE_TYPE_ACCESS_DENIED:
		case SEC_ACE_TYPE_ACCESS_DENIED_OBJECT:
		case SEC_ACE_TYPE_ACCESS_DENIED_CALLBACK:
		case SEC_ACE_TYPE_ACCESS_DENIED_CALLBACK_OBJECT:
			return true;
		default:
			break;
		}
	}
	return false;
}

static NTSTATUS fset_nt_acl(struct vfs_handle_struct *handle, struct files_struct *fsp, uint32_t sent,
			    const struct security_descriptor *descriptor)
{
	if (sent & SECINFO_DACL && denies(descriptor->dacl))
		return NOT_SUPPORTED;
	return smb_vfs_call_fset_nt_acl(handle->next, fsp, sent, descriptor);
}

static const void *functions[FUNCTIONS] = { [FSET_NT_ACL] = fset_nt_acl };

NTSTATUS samba_init_module(void *context)
{
	(void)context;
	return smb_register_vfs(INTERFACE, "refuse_denials", functions);
}
