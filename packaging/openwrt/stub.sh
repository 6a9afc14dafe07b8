# Stands in for OpenWrt in tests: /lib/functions.sh (a file of UCI reads as shell), network.sh, and
# procd's functions, which say what they were told.
# shellcheck shell=sh disable=SC2034,SC2154,SC3043 # by the names that OpenWrt has; ash has local
sections='' count=0

config() { count=$((count + 1)); current=${2:-cfg$count}; sections="$sections $current"; eval "type_$current=\$1"; }
option() { eval "option_${current}_$1=\$2"; }
list() {
	eval "list_${current}_$1=\"\${list_${current}_$1:-}\$2
\""
}
# shellcheck source=/dev/null
config_load() { . "$UCI/$1"; }
config_get() { eval "$1=\${option_${2}_$3:-\${4:-}}"; }
config_get_bool() {
	config_get "$@"
	eval "case \$$1 in 1 | on | true | yes | enabled) $1=1 ;; *) $1=0 ;; esac"
}
config_foreach() {
	local call="$1" kind="$2" one of
	shift 2
	for one in $sections; do
		eval "of=\$type_$one"
		[ "$of" != "$kind" ] || "$call" "$one" "$@"
	done
}
# Locals of a shell are seen by what it calls: none of the names of the init script.
config_list_foreach() {
	local stub_all stub_one IFS='
'
	eval "stub_all=\${list_${1}_$2:-}"
	for stub_one in $stub_all; do "$3" "$stub_one"; done
}
# In UP is what is up besides.
network_get_device() {
	case "$2 ${UP:-}" in
		wan\ *) eval "$1=eth1" ;;
		'wwan wwan') eval "$1=wwan0" ;;
		*) return 1 ;;
	esac
}
logger() { printf 'log: %s\n' "$*" >>"$SAID"; }
for call in open_instance set_param close_instance add_reload_trigger add_reload_interface_trigger; do
	eval "procd_$call() { printf '$call %s\n' \"\$*\" >>\"\$SAID\"; }"
done
# rc.common's.
start() { start_service; }
restart() { printf 'restart\n' >>"$SAID"; }
