#!/bin/sh
# Makes the base image of deploy/Dockerfile without a registry: Debian from debootstrap, with the Node.js and npm of this
# machine. As root, with buildah and debootstrap: sh test/deploy/base-image.sh <name>
set -eu
name=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=ca-certificates bookworm "$root/base"
cp -L "$(command -v node)" "$root/base/usr/bin/node"
mkdir -p "$root/base/usr/lib/node_modules" "$root/base/usr/etc"
cp -a "$(npm root --global)/npm" "$root/base/usr/lib/node_modules/"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/base/usr/bin/npm"
# How this machine reaches a registry.
cp /etc/ssl/certs/ca-certificates.crt "$root/base/etc/ssl/certs/"
settings=$(npm config get globalconfig)
if [ -f "$settings" ]; then cp "$settings" "$root/base/usr/etc/npmrc"; fi
printf 'FROM scratch\nCOPY base /\n' > "$root/Dockerfile"
buildah bud --isolation chroot --file "$root/Dockerfile" --tag "$name" "$root"
