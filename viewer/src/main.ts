import './style.css';
import { App } from './app.js';
import { h } from './dom.js';
import { SideBySide } from './side-by-side.js';

const root = document.getElementById('app') as HTMLElement;
const parameters = new URLSearchParams(location.search);

function start(): void {
  let app: App;
  try {
    app = new App(root, parameters);
  } catch (error) {
    root.append(h('p', { class: 'fatal', role: 'alert' }, `This browser cannot show the world: ${error instanceof Error ? error.message : String(error)}. The viewer needs WebGL 2.`));
    return;
  }
  // For the curious, and for tests: everything the page knows.
  (window as unknown as { auramesh: App }).auramesh = app;
  const recording = parameters.get('recording');
  if (recording) {
    void openRecording(app, recording);
    return;
  }
  const secure = location.protocol === 'https:' ? 'wss' : 'ws';
  const elsewhere = parameters.get('gateway');
  // A token in the address stays out of the history and of what servers log.
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) history.replaceState(null, '', location.pathname + location.search);
  if (given && !elsewhere) sessionStorage.setItem('auramesh-token', given);
  // The token is for the gateway that this page is from: a link to another one does not get it.
  if (elsewhere) app.connect(elsewhere, given ?? '', false);
  else app.connect(`${secure}://${location.host}/ws`, sessionStorage.getItem('auramesh-token') ?? '', true);
}

/** One track fills the page; several stand next to each other, each in a frame of its own. */
async function openRecording(app: App, recording: string): Promise<void> {
  const track = parameters.get('track');
  document.body.classList.toggle('bare', parameters.has('bare'));
  const tracks = await app.open(recording, Number(track ?? 0));
  if (track === null && tracks.length > 1) new SideBySide(root, tracks, app);
}

start();
