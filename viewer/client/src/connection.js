// A scene driven over a WebSocket that comes back by itself.
import { decode, encode, SUBPROTOCOL } from './messages.js';
import { Scene } from './scene.js';
const FIRST_PINGS = 5;
const FIRST_PING_MS = 100;
const PING_MS = 2000;
const SILENCE_MS = 10_000;
const ANSWER_MS = 15_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8000;
/** A new start helps against none of these. */
const FINAL = ['version', 'token', 'malformed'];
/** A connection to a gateway. */
export class Connection {
    url;
    options;
    scene;
    socket = null;
    waiting = new Map();
    nextCommand = 1;
    attempt = 0;
    heard = 0;
    goodbye = null;
    timers = [];
    inspecting = { layers: 0, picked: [] };
    closed = false;
    now;
    constructor(url, options = {}) {
        this.url = url;
        this.options = options;
        this.now = options.now ?? (() => performance.now());
        this.scene = new Scene(options.listener);
        this.connect();
    }
    /** Is it open, and has the gateway let us in? */
    get open() {
        return this.socket?.readyState === WebSocket.OPEN && this.scene.welcome !== null;
    }
    connect() {
        this.clearTimers();
        this.attempt++;
        this.goodbye = null;
        this.options.onStatus?.({ state: 'connecting', attempt: this.attempt });
        const socket = new WebSocket(this.url, SUBPROTOCOL);
        socket.binaryType = 'arraybuffer';
        this.socket = socket;
        socket.onopen = () => this.greet();
        socket.onmessage = (event) => this.receive(socket, event.data);
        socket.onclose = () => this.lost(socket);
    }
    greet() {
        this.heard = this.now();
        const { token = '', area = 'everything', rate = 0 } = this.options;
        this.send({ type: 'hello', token, area, rate });
        for (let i = 0; i < FIRST_PINGS; i++)
            this.later(i * FIRST_PING_MS, () => this.ping());
        const again = () => {
            this.ping();
            if (this.now() - this.heard > SILENCE_MS)
                this.socket?.close();
            else
                this.later(PING_MS, again);
        };
        this.later(FIRST_PINGS * FIRST_PING_MS, again);
    }
    ping() {
        this.send({ type: 'ping', sent: BigInt(Math.round(this.now() * 1e6)) });
    }
    receive(socket, data) {
        if (socket !== this.socket || !(data instanceof ArrayBuffer))
            return;
        this.heard = this.now();
        try {
            const begun = this.now();
            const message = decode(new Uint8Array(data));
            this.options.onMessage?.(message, data.byteLength);
            this.handle(message);
            this.options.onHandled?.(this.now() - begun);
        }
        catch (error) {
            // Told anew it makes sense again: the connection starts over.
            this.goodbye = { reason: 'silent', text: `a message was not understood: ${String(error)}` };
            this.scene.world = null;
            socket.close();
        }
    }
    handle(message) {
        if (message.type === 'answer') {
            this.waiting.get(message.id)?.(message.answer);
            this.waiting.delete(message.id);
        }
        else if (message.type === 'goodbye') {
            this.goodbye = message;
        }
        else {
            this.scene.handle(message, this.now());
            if (message.type === 'welcome')
                this.welcomed();
        }
    }
    welcomed() {
        this.attempt = 0;
        if (this.inspecting.layers || this.inspecting.picked.length)
            this.send({ type: 'inspect', ...this.inspecting });
        this.options.onStatus?.({ state: 'open' });
    }
    lost(socket) {
        if (socket !== this.socket || this.closed)
            return;
        this.clearTimers();
        this.socket = null;
        for (const answer of this.waiting.values())
            answer({ type: 'no-answer' });
        this.waiting.clear();
        this.nextCommand = 1;
        const { reason, text } = this.goodbye ?? { reason: undefined, text: '' };
        if (reason && FINAL.includes(reason)) {
            this.options.onStatus?.({ state: 'ended', why: text, reason });
            return;
        }
        const why = text || (this.scene.welcome ? 'The connection was lost' : 'The gateway does not answer');
        const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, this.attempt));
        this.options.onStatus?.({ state: 'waiting', why, retryMs });
        this.later(retryMs, () => this.connect());
    }
    /** Tries again at once. */
    retry() {
        if (this.socket === null && !this.closed)
            this.connect();
    }
    /** Another token from now on. */
    useToken(token) {
        this.options.token = token;
        this.retry();
    }
    /** Ends it for good. */
    close() {
        this.closed = true;
        this.clearTimers();
        this.socket?.close();
    }
    /** Drops the socket as a broken network would; it comes back by itself. */
    interrupt() {
        this.socket?.close();
    }
    /** Asks for something to be done or told; the answer always comes, `no-answer` at worst. */
    command(command) {
        if (!this.open)
            return Promise.resolve({ type: 'no-answer' });
        const id = this.nextCommand++;
        return new Promise((resolve) => {
            this.waiting.set(id, resolve);
            setTimeout(() => {
                if (this.waiting.get(id) !== resolve)
                    return;
                this.waiting.delete(id);
                resolve({ type: 'no-answer' });
            }, ANSWER_MS);
            this.send({ type: 'command', id, command });
        });
    }
    /** Sees another part of the world. */
    watch(area) {
        this.options.area = area;
        this.send({ type: 'watch', area });
    }
    /** Asks for layers of inspection and for the exact state of bodies; replaces what was asked before, and is asked again after a reconnection. */
    inspect(layers, picked = []) {
        this.inspecting = { layers, picked };
        if (this.open)
            this.send({ type: 'inspect', layers, picked });
    }
    send(message) {
        if (this.socket?.readyState === WebSocket.OPEN)
            this.socket.send(encode(message));
    }
    later(ms, what) {
        this.timers.push(setTimeout(what, ms));
    }
    clearTimers() {
        this.timers.forEach(clearTimeout);
        this.timers = [];
    }
}
//# sourceMappingURL=connection.js.map