#!/bin/sh
# Unpack PostgreSQL's server programs from Debian's packages into .postgres if they are missing; never fail.
# They are unpacked and not installed: an installed package makes a cluster of its own and starts it as a service, unless
# a file in /etc says otherwise. The tests run a server of their own, as an ordinary user, and stop it.
root=${1:-.postgres}
if command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb "$root"/usr/lib/postgresql/*/bin/initdb 2>/dev/null | grep -q .; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "unpacking PostgreSQL's server for the tests of storage"
    mkdir -p "$root/archives/partial"
    archives=$(cd "$root/archives" && pwd)
    {
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends --download-only -o Dir::Cache::archives="$archives" postgresql
    } >/dev/null 2>&1
    for package in "$root"/archives/*.deb; do
        dpkg-deb --extract "$package" "$root" 2>/dev/null
    done
    rm -rf "$root/archives"
    ls "$root"/usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
fi
echo "PostgreSQL's server programs are not here (Debian: apt-get install postgresql); tests that need them are skipped"
exit 0
