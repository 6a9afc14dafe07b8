# shellcheck shell=bash
# Sourced by `run`: all that people install, into target/package. `package [WHAT…]`, WHAT of deb,
# static, openwrt, image.

# What links for other machines.
ZIGBUILD=0.24.1
ZIG=0.17.1

# Machines by Debian's names: Rust's target, QEMU's name, and OpenWrt's architectures (the same
# program runs on all of a line).
declare -A TRIPLE=([amd64]=x86_64-unknown-linux-musl [arm64]=aarch64-unknown-linux-musl [armv7]=armv7-unknown-linux-musleabihf)
declare -A EMULATOR=([amd64]=qemu-x86_64-static [arm64]=qemu-aarch64-static [armv7]=qemu-arm-static)
declare -A OPENWRT=(
    [amd64]=x86_64
    [arm64]="aarch64_generic aarch64_cortex-a53 aarch64_cortex-a72"
    [armv7]="arm_cortex-a7_neon-vfpv4 arm_cortex-a9_vfpv3-d16 arm_cortex-a15_neon-vfpv4"
)
# Those whose standard library is built here from its source (cargo's build-std), since rustup has none.
declare -A BUILD_STD=()
# Those that can be built here: `ARCHES=arm64 ./run package image` makes one alone.
read -ra ARCHES <<<"${ARCHES:-amd64 arm64 armv7}"

package_all() {
    local what
    [ $# -gt 0 ] || set -- deb static image openwrt
    for what in "$@"; do
        case $what in deb | static | openwrt | image) ;; *) fail "there is no package \"$what\": deb, static, openwrt and image are" ;; esac
    done
    packages shellcheck python3
    OUT=$TARGET/package
    rm -rf "$OUT" && mkdir -p "$OUT"
    VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
    export SOURCE_DATE_EPOCH
    cross_parts "$*"
    for what in "$@"; do part "package: $what" "package_$what"; done
    # shellcheck disable=SC2094 # it leaves itself out
    (cd "$OUT" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
    sizes | tee "$OUT/SIZES.md"
    printf '%s\n' "${PARTS[@]}"
    [ ${#SKIPS[@]} = 0 ] || printf '%s\n' "${SKIPS[@]}"
}

# The standard library for each machine, a C compiler and linker for all of them, and emulators.
# A deb for this machine needs none of it.
cross_parts() {
    local arch there=() venv=$TARGET/zig
    WANTED=("${ARCHES[@]}")
    [ "$1 ${ARCHES[*]}" != "deb $(dpkg --print-architecture 2>/dev/null)" ] || return 0
    packages qemu-aarch64-static:qemu-user-static
    for arch in "${ARCHES[@]}"; do
        if rustup target list --installed 2>/dev/null | grep -qx "${TRIPLE[$arch]}" || rustup --quiet target add "${TRIPLE[$arch]}" 2>/dev/null; then
            there+=("$arch")
        elif rustup --quiet component add rust-src 2>/dev/null; then
            there+=("$arch")
            BUILD_STD[$arch]=1
        else
            unreached "$arch: skipped: rustup can get neither Rust's standard library for ${TRIPLE[$arch]} nor its source"
        fi
    done
    ARCHES=("${there[@]}")
    [ ${#ARCHES[@]} -gt 0 ] || [ "$1" != deb ] || return 0
    [ ${#ARCHES[@]} -gt 0 ] || fail "Rust's standard library for musl is needed: rustup target add x86_64-unknown-linux-musl"
    has cargo-zigbuild || env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 \
        cargo install --quiet --locked --debug --no-default-features --root "$TARGET/tools" "cargo-zigbuild@$ZIGBUILD"
    [ "$("$venv/bin/python3" -m ziglang version 2>/dev/null)" = $ZIG ] || {
        python3 -c 'import ensurepip' 2>/dev/null || packages python3-ensurepip:python3-venv
        python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "ziglang==$ZIG"
    }
    CARGO_ZIGBUILD_ZIG_PATH=$(realpath "$venv"/lib/python3*/site-packages/ziglang/zig)
    export CARGO_ZIGBUILD_ZIG_PATH
}

# What starts a program of another machine here; nothing for this one's.
emulator() {
    [ "$(uname -m)" != "${TRIPLE[$1]%%-*}" ] || return 0
    echo "${EMULATOR[$1]}"
}

# ARCH PROFILE [OPTION…]: a static program, whose place is printed. Cargo builds what has changed.
cross() {
    local arch=$1 profile=$2 triple=${TRIPLE[$1]} with=(env CARGO_PROFILE_DIST_STRIP=symbols)
    shift 2
    if [ -n "${BUILD_STD[$arch]:-}" ]; then
        # Stable cargo builds no std, and std from source has no start files of musl: zig has.
        with+=(RUSTC_BOOTSTRAP=1 "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$triple")_RUSTFLAGS=-C link-self-contained=no")
        set -- -Z build-std=std,panic_unwind,panic_abort "$@"
    fi
    "${with[@]}" cargo zigbuild --quiet --profile "$profile" --target "$triple" -p ropewalk --bin ropewalk "$@" >&2 || return
    echo "$TARGET/$triple/$profile/ropewalk"
}

sbom() {
    local file=$1 triple=$2
    shift 2
    packaging/sbom "$triple" "$VERSION" "$REVISION" "$@" >"$OUT/$file.cdx.json"
}

package_static() {
    local arch program name
    for arch in "${ARCHES[@]}"; do
        program=$(cross "$arch" dist)
        name=ropewalk-$VERSION-${TRIPLE[$arch]%%-*}-linux
        mkdir -p "$OUT/$name"
        install -m 755 "$program" "$OUT/$name/ropewalk"
        cp LICENSE packaging/deb/copyright "$OUT/$name/"
        cp -r packaging/man packaging/completions packaging/systemd "$OUT/$name/"
        # shellcheck disable=SC2046 # no word where there is no emulator
        packaging/static/try "$OUT/$name/ropewalk" $(emulator "$arch")
        tar -C "$OUT" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" \
            -cf - "$name" | xz -6 -T1 >"$OUT/$name.tar.xz"
        rm -r "${OUT:?}/$name"
        sbom "$name" "${TRIPLE[$arch]}"
    done
}

package_openwrt() {
    local arch program name options=(--no-default-features)
    packages zopfli
    for arch in "${ARCHES[@]}"; do
        program=$(cross "$arch" small "${options[@]}")
        for name in ${OPENWRT[$arch]}; do packaging/openwrt/build "$program" "$name" "$VERSION" "$OUT"; done
        # shellcheck disable=SC2046 # no word where there is no emulator
        packaging/openwrt/try "$OUT/ropewalk_$VERSION-1_${OPENWRT[$arch]%% *}.ipk" $(emulator "$arch")
        sbom "ropewalk_$VERSION-1_openwrt_$arch" "${TRIPLE[$arch]}" "${options[@]}"
    done
}

# The index is the image for all machines; the archive of its layout is what `podman load` and
# `skopeo` read.
package_image() {
    local arch program programs=() layout=$OUT/image
    for arch in "${ARCHES[@]}"; do
        program=$(cross "$arch" dist)
        programs+=("$arch=$program")
    done
    packaging/image/build "$VERSION" "$REVISION" "$layout" "${programs[@]}"
    for arch in "${ARCHES[@]}"; do
        try_image "$layout" "$arch"
        sbom "ropewalk-$VERSION-image_$arch" "${TRIPLE[$arch]}"
    done
    tar -C "$layout" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" \
        -cf "$OUT/ropewalk-$VERSION.oci.tar" .
    rm -r "$layout"
}

try_image() {
    local arch=$2
    [ "$arch" != armv7 ] || arch=arm
    # shellcheck disable=SC2046 # no word where there is no emulator
    if [ "$(id -u)" = 0 ] || has sudo; then
        as_root packaging/image/try "$1" "$arch" $(emulator "$2")
    else
        unreached "the image for $2: not run: needs root"
    fi
}

# For this machine from its own C library; for another from the static program, which needs none.
package_deb() {
    local arch own deb triple
    packages dpkg-shlibdeps:dpkg-dev lintian ip:iproute2 nft:nftables
    cargo_deb
    own=$(dpkg --print-architecture)
    for arch in "${WANTED[@]}"; do
        [ "$arch" = "$own" ] || [[ " ${ARCHES[*]} " = *" $arch "* ]] || continue
        triple=${TRIPLE[$arch]}
        case $arch in
            "$own")
                triple=$(rustc -vV | sed -n 's/^host: //p')
                cargo build --profile dist -p ropewalk
                cargo deb --quiet --no-build --profile dist -p ropewalk --output "$OUT/"
                ;;
            armv7) continue ;;
            *)
                cross "$arch" dist >/dev/null
                cargo deb --quiet --no-build --no-strip --profile dist --target "$triple" -p ropewalk --output "$OUT/"
                ;;
        esac
        deb=$(compgen -G "$OUT/*_$arch.deb")
        lintian --fail-on error,warning "$deb"
        sbom "$(basename "$deb" .deb)" "$triple"
        if [ "$arch" != "$own" ]; then
            packaging/deb/try-foreign "$deb" "$arch" "${EMULATOR[$arch]}"
            on_debian "$arch" --no-strip --target "$triple"
        elif [ "$(id -u)" = 0 ] || has sudo; then
            as_root packaging/deb/try "$deb"
            on_debian "$arch"
        else
            unreached "the package for $arch: not tried: needs root"
        fi
    done
}

# The same program on whole machines, where there is what they need: on_debian ARCH [OPTION of cargo-deb…].
on_debian() {
    local arch=$1
    shift
    if (debian_parts "$arch"); then
        debs "$arch" dist "$@"
        debian_run "$arch"
    else
        unreached "the package for $arch on a whole Debian: not tried: virtual machines are for amd64 and arm64, and need root, QEMU and Debian's packages"
    fi
}

# For the README.
sizes() {
    local file
    printf '| file | MB |\n|---|---|\n'
    (cd "$OUT" && find . -type f ! -name '*.json' ! -name SHA256SUMS ! -name SIZES.md -printf '%P %s\n') | LC_ALL=C sort |
        while read -r file bytes; do awk -v f="$file" -v b="$bytes" 'BEGIN { printf "| `%s` | %.1f |\n", f, b / 1e6 }'; done
    # shellcheck disable=SC2016 # no command, but Markdown
    printf '\n(`./run package`, %s, Linux %s, %s, %.8s)\n' "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(uname -r | cut -d. -f1,2)" \
        "$(date +%F)" "$REVISION"
}
