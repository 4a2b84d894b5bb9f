# Installs redis-server on Debian and its kin, as root. The package would start a system service on port 6379, which a
# development stack neither needs nor wants: policy-rc.d is the documented way to say so, and is put back as it was.
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -q
apt-get install -q -y --no-install-recommends redis-server
