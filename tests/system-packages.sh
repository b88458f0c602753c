#!/usr/bin/env bash
# The servers and browsers of the tests, from Debian's packages, where they are missing and this user may install them.
# Elsewhere nothing happens, and the tests that need them are skipped with a reason.
set -uo pipefail
missing=()
if ! command -v pg_ctl >/dev/null && ! ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1; then
    missing+=(postgresql)
fi
command -v chromium >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
if [ ${#missing[@]} -eq 0 ] || ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    exit 0
fi
echo "installing ${missing[*]}"
apt-get update -qq >/dev/null 2>&1
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    echo "could not install them: the tests that need them will be skipped"
