// Talking to `ropewalk web`.

const KEY = "ropewalk-key";

// The token in the fragment is exchanged for a cookie, and for a key that other ports of this machine never see.
export async function open() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const opened = await send("/api/open", { token });
  localStorage.setItem(KEY, opened.key);
}

async function send(path, body) {
  const headers = { "content-type": "application/json", "ropewalk-key": localStorage.getItem(KEY) ?? "" };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

export const act = (action) => send("/api/act", action);

export async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// Calls back with each event; with `lost` while there is no connection.
export function listen({ now, timeline, gone, lost }) {
  const source = new EventSource("/api/live");
  source.addEventListener("now", (e) => now(JSON.parse(e.data)));
  source.addEventListener("timeline", (e) => timeline(JSON.parse(e.data)));
  source.addEventListener("gone", (e) => gone(JSON.parse(e.data)));
  source.addEventListener("error", async () => {
    // A browser gives no reason; a plain request does.
    const why = await get("/api/history?span=seconds").then(() => null, (error) => error.message);
    if (source.readyState !== EventSource.OPEN) lost(why, source.readyState === EventSource.CLOSED);
  });
  return source;
}
