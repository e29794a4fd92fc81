Name: Do not ask again for a password that was just verified
Default: yes
Priority: 512
Auth-Type: Additional
Auth:
	optional	pam_verified_password.so
Password-Type: Primary
Password:
	optional	pam_verified_password.so
