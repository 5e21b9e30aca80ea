# What scripts/setup, scripts/test and scripts/demo share: where things lie, and
# steps that keep their output in a log. Sourced, never run.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build="$root/build"
venv="$root/.venv"
logs="$build/logs"

say() { printf '%s\n' "$*" >&2; }

# die <message>...: the message on stderr, and out.
die() {
  say "error: $*"
  exit 1
}

elapsed() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Prints the last line of a log every few seconds, so that a long step shows
# that it lives. On a terminal it rewrites one line.
watch_log() {
  local title=$1 log=$2 start=$SECONDS last
  while sleep 5 >/dev/null 2>&1; do
    last=$(tail -c 400 "$log" 2>/dev/null | tr '\r' '\n' | grep -av '^ *$' |
      tail -n 1 | cut -c1-70)
    if [[ -t 2 ]]; then
      printf '\r\033[K   %s %s  %s' "$title" "$(elapsed $((SECONDS - start)))" "$last" >&2
    elif (((SECONDS - start) % 30 < 5)); then
      printf '   %s %s  %s\n' "$title" "$(elapsed $((SECONDS - start)))" "$last" >&2
    fi
  done
}

# attempt <log name> <title> <command>...: runs the command with its output in
# build/logs/<log name>.log and returns its status. A failure shows the log's tail.
attempt() {
  local log="$logs/$1.log" title=$2 start=$SECONDS status=0 watcher
  shift 2
  mkdir -p "$logs"
  : >"$log"
  say "== $title"
  watch_log "$title" "$log" &
  watcher=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null || true
  [[ -t 2 ]] && printf '\r\033[K' >&2
  if ((status)); then
    say "   failed after $(elapsed $((SECONDS - start))) (exit $status): $title"
    say "   the end of ${log#"$root"/}:"
    tail -n 40 "$log" | sed 's/^/   | /' >&2
  else
    say "   done in $(elapsed $((SECONDS - start)))"
  fi
  return "$status"
}

# step ...: as attempt, and gives up on failure.
step() { attempt "$@" || die "step failed: $2"; }
