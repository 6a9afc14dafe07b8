# shellcheck shell=bash
# Sourced by `run`, whose `say`, `fail` and `skipped` it uses: gets what is needed, from apt, rustup,
# crates.io, npm and PyPI.

# The least Go with which `go install` fetches the toolchain that wireguard-go asks for by itself.
GO_MINOR=21
# What holds the dependencies against .ci/deny.toml.
DENY=0.20.2
# What makes Debian packages.
CARGO_DEB=3.8.0
# What makes a book of docs/.
MDBOOK=0.5.2

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo; then sudo "$@"; else fail "root is needed for: $*"; fi
}

# Installs Debian packages: `packages iperf3 ip:iproute2` means that the program `ip` comes with the package `iproute2`.
packages() {
    local want missing=()
    for want in "$@"; do has "${want%%:*}" || missing+=("${want##*:}"); done
    [ ${#missing[@]} = 0 ] && return
    has apt-get || fail "please install ${missing[*]} (there is no apt here to do it with)"
    say "installing ${missing[*]} with apt"
    has_lists || as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

has_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

rust() {
    packages cc:build-essential
    rust_is_new_enough || install_rust
    local missing=()
    cargo fmt --version >/dev/null 2>&1 || missing+=(rustfmt)
    cargo clippy --version >/dev/null 2>&1 || missing+=(clippy)
    [ ${#missing[@]} = 0 ] && return
    has rustup || fail "this Rust lacks ${missing[*]}: install them with the package that it came from"
    say "installing ${missing[*]} with rustup"
    rustup component add "${missing[@]}"
}

rust_is_new_enough() {
    local least have
    least=$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' Cargo.toml)
    have=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')
    [ "${have:-0}" -ge "$least" ]
}

install_rust() {
    packages curl update-ca-certificates:ca-certificates
    say "installing Rust with rustup, for this user (https://rustup.rs)"
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path
    rust_is_new_enough || fail "rustup has run, but the cargo in $PATH is still too old"
}

# Only a row of the bench needs Go; without it the others are measured all the same.
go_for_wireguard() {
    has go || ! has apt-get || apt_go_is_old || packages go:golang-go
    has go || say "wireguard-go will be left out: it needs Go 1.$GO_MINOR or later (https://go.dev/dl)"
}

apt_go_is_old() {
    local candidate
    has_lists || as_root apt-get update -qq
    candidate=$(apt-cache policy golang-go | sed -n 's/.*Candidate: 2:1\.\([0-9]*\).*/\1/p')
    [ "${candidate:-0}" -lt $GO_MINOR ]
}

# Built from crates.io, which has checksums of all of it, and without optimisation: two minutes of two cores.
cargo_deny() {
    has cargo-deny && return
    say "installing cargo-deny $DENY under $TARGET/tools with cargo"
    env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 \
        cargo install --quiet --locked --debug --root "$TARGET/tools" "cargo-deny@$DENY" && return
    # A network without crates.io breaks no CI; a build that fails does.
    if [ "${CI:-}" = true ] && cargo info --quiet "cargo-deny@$DENY" >/dev/null 2>&1; then
        fail "cargo-deny could not be built, though crates.io can be reached"
    fi
    unreached "dependencies: skipped: cargo-deny cannot be had from crates.io"
    return 1
}

# The models are built for a machine without an operating system, to see that they ask nothing of one.
wasm() {
    local triple=wasm32-unknown-unknown
    [ -d "$(rustc --print target-libdir --target $triple)" ] && return
    if has rustup; then rustup target add $triple; else skipped "skipped: this Rust has no $triple"; fi
}

# Unpacked and not installed: the package would start a server on this machine.
etcd_get() {
    has etcd && return
    has apt-get && packages dpkg-deb:dpkg || return
    local tools
    tools=$(realpath -m "$TARGET/tools")
    has_lists || as_root apt-get update -qq || return
    say "unpacking etcd-server under $tools"
    rm -rf "$tools/etcd" && mkdir -p "$tools/etcd" "$tools/bin" || return
    (cd "$tools/etcd" && apt-get download -qq etcd-server && dpkg-deb -x etcd-server_*.deb . && rm -f etcd-server_*.deb) || return
    ln -sf "$tools/etcd/usr/bin/etcd" "$tools/bin/etcd"
}

# What the page's tests use: a browser, the locked chart library, and axe-core, which is run and not given away.
web_parts() {
    (packages chromium npm && cd crates/ropewalk/web && npm ci --ignore-scripts --no-audit --no-fund --silent) && return
    # A network without them breaks no CI; an installation that fails does.
    if npm ping >/dev/null 2>&1 && apt-cache show chromium >/dev/null 2>&1; then
        skipped "the page's tests: skipped: Chromium or npm's packages could not be installed, though they can be reached"
    else
        export ROPEWALK_NO_BROWSER=1
        unreached "the page's tests: skipped: Chromium or npm's packages cannot be reached"
    fi
}

# What the Python package is tested with, in an environment of its own; kept between runs.
python_parts() {
    local venv wanted=python/tests/requirements.txt
    venv=$(realpath -m "$TARGET/python/venv")
    PYTHON=$venv/bin/python
    ! cmp -s "$wanted" "$venv/installed.txt" || return 0
    (
        packages python3 && { python3 -c 'import ensurepip' 2>/dev/null || packages python3-ensurepip:python3-venv; } &&
            say "installing what the Python package is tested with, in $venv" &&
            python3 -m venv --clear "$venv" && "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement "$wanted" &&
            cp "$wanted" "$venv/installed.txt"
    ) && return
    # A network without PyPI breaks no CI; an installation that fails does.
    if ! "$PYTHON" -m pip --version >/dev/null 2>&1; then
        skipped "the Python package: skipped: an environment for it (python3, python3-venv) could not be made"
    elif "$PYTHON" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --no-deps tqdm >/dev/null 2>&1; then
        skipped "the Python package: skipped: what its tests need could not be installed, though PyPI can be reached"
    else
        unreached "the Python package: skipped: PyPI cannot be reached"
    fi
    return 1
}

# Built from crates.io, as cargo-deny is.
mdbook_get() {
    [ "$(mdbook --version 2>/dev/null)" = "mdbook v$MDBOOK" ] && return
    say "installing mdBook $MDBOOK under $TARGET/tools with cargo"
    env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 \
        cargo install --quiet --locked --debug --no-default-features --features search --root "$TARGET/tools" "mdbook@$MDBOOK"
}

# What makes Debian packages, built from crates.io as cargo-deny is.
cargo_deb() {
    has cargo-deb || env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 \
        cargo install --quiet --locked --debug --root "$TARGET/tools" "cargo-deb@$CARGO_DEB"
}

# A Debian kernel with its modules, unpacked and not installed: its simulated radios are driven by the real mac80211. Kept between runs.
vm_kernel() {
    compgen -G "$VM_ROOT/boot/vmlinuz-*" >/dev/null && return
    local please="put a kernel image and its modules under $VM_ROOT (boot/vmlinuz-*, lib/modules)"
    has apt-get || fail "there is no apt here to get a kernel with: $please"
    has_lists || as_root apt-get update -qq || return
    local name
    name=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
    [ -n "$name" ] || fail "apt knows no linux-image-amd64: $please"
    say "unpacking $name under $VM_ROOT"
    rm -rf "$VM_ROOT.new" && mkdir -p "$VM_ROOT.new" || return
    (cd "$VM_ROOT.new" && apt-get download -qq "$name" && dpkg -x "$name"_*.deb . && rm -f "$name"_*.deb) || return
    unpack_kernel "$VM_ROOT".new/boot/vmlinuz-*
    mkdir -p "$VM_ROOT" && cp -a "$VM_ROOT.new/." "$VM_ROOT/" && rm -rf "$VM_ROOT.new"
}

# To unpack its kernel takes a machine 3.3 s of the 8.3 that it needs to look for its disk (6.1, QEMU 7.2, 28 November 2026).
unpack_kernel() {
    local image=$1 at
    # Where it is: setup_sects, payload_offset, payload_length less a length (its Documentation/arch/x86/boot.rst).
    number() { od -An -t "u$2" -j "$1" -N "$2" "$image"; }
    at=$((($(number 497 1) + 1) * 512 + $(number 584 4)))
    tail -c "+$((at + 1))" "$image" | head -c $(($(number 588 4) - 4)) | xz -dc >"$image.new" 2>/dev/null || true
    # One that is packed otherwise stays as it is.
    if [ "$(head -c 4 "$image.new" | tail -c 3)" = ELF ]; then
        # For machines that sleep: when one wakes, QEMU 7.2 writes an ELF into its memory again.
        mv "$image" "${image/vmlinuz-/packed-}"
        mv "$image.new" "$image"
    else
        rm "$image.new"
    fi
}

# Whatever the virtual machine needs.
vm_parts() {
    [ "$(uname -m)" = x86_64 ] || fail "the virtual machine is an x86_64 one, and this is not"
    packages qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio hostapd wpa_supplicant:wpasupplicant iw ip:iproute2 xz:xz-utils strings:binutils || return
    vm_kernel
}

vm_get() {
    HAS_VM=no
    # shellcheck disable=SC2034 # `run` reads it
    if (vm_parts); then HAS_VM=yes; else skipped "virtual machines: skipped: what they need could not be had"; fi
}

# A whole Debian on a disk, made once, and what starts it: debian_parts ARCH.
debian_parts() {
    local arch=$1
    case $arch in
        amd64) vm_parts || return ;;
        *) packages qemu-system-aarch64:qemu-system-arm cpio strings:binutils || return ;;
    esac
    packages mmdebstrap mke2fs:e2fsprogs dpkg-shlibdeps:dpkg-dev || return
    cargo_deb || return
    mkdir -p "$DEBIAN/$arch"
    as_root env PATH="$PATH" VM_ROOT="$VM_ROOT" tests/debian/image "$DEBIAN/$arch" "$arch"
}

# The two of `test`. Without virtual machines `vm_get` has said so.
debian_get() {
    HAS_DEBIAN=no
    [ "$HAS_VM" = yes ] || return 0
    # shellcheck disable=SC2034 # `run` reads it
    if (debian_parts amd64); then HAS_DEBIAN=yes; else skipped "virtual Debians: skipped: what they need (root among it) could not be had"; fi
}
