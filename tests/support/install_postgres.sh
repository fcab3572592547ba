#!/bin/sh
# Install PostgreSQL's server programs from Debian's packages if they are missing and we may; never fail.
# Nothing is started here: the tests run a server of their own, as an ordinary user, and stop it.
if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing PostgreSQL's server for the tests of storage"
    export DEBIAN_FRONTEND=noninteractive
    # the package would start a server of its own as a service, which is not wanted; it can be told by a file alone,
    # which is afterwards as it was
    settings=/etc/postgresql-common/createcluster.conf
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false # by hentropy's tests" >>$settings
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >/dev/null 2>&1
    installed=$?
    sed -i "/# by hentropy's tests$/d" $settings
    [ $installed = 0 ] && exit 0
fi
echo "PostgreSQL's server programs are not here (Debian: apt-get install postgresql); tests that need them are skipped"
exit 0
