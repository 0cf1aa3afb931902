import type { Answer, Area, Command } from './commands.js';
import { type FromGateway, type Goodbye } from './messages.js';
import { Scene, type SceneListener } from './scene.js';
/** Where a connection stands. */
export type Status = {
    state: 'connecting';
    attempt: number;
} | {
    state: 'open';
}
/** It will be tried again in so many ms. */
 | {
    state: 'waiting';
    why: string;
    retryMs: number;
}
/** It makes no sense to try again without a change. */
 | {
    state: 'ended';
    why: string;
    reason?: Goodbye;
};
export interface Options {
    token?: string;
    area?: Area;
    /** Updates per second; 0: all. */
    rate?: number;
    onStatus?(status: Status): void;
    /** Every message with its bytes' number, before the scene gets it. */
    onMessage?(message: FromGateway, bytes: number): void;
    /** Called around decoding and handling of each message, for measurements. */
    onHandled?(ms: number): void;
    listener?: SceneListener;
    /** The own clock, ms; performance.now by default. */
    now?(): number;
}
/** A connection to a gateway. */
export declare class Connection {
    private readonly url;
    private readonly options;
    readonly scene: Scene;
    private socket;
    private readonly waiting;
    private nextCommand;
    private attempt;
    private heard;
    private goodbye;
    private timers;
    private inspecting;
    private closed;
    private readonly now;
    constructor(url: string, options?: Options);
    /** Is it open, and has the gateway let us in? */
    get open(): boolean;
    private connect;
    private greet;
    private ping;
    private receive;
    private handle;
    private welcomed;
    private lost;
    /** Tries again at once. */
    retry(): void;
    /** Another token from now on. */
    useToken(token: string): void;
    /** Ends it for good. */
    close(): void;
    /** Drops the socket as a broken network would; it comes back by itself. */
    interrupt(): void;
    /** Asks for something to be done or told; the answer always comes, `no-answer` at worst. */
    command(command: Command): Promise<Answer>;
    /** Sees another part of the world. */
    watch(area: Area): void;
    /** Asks for layers of inspection and for the exact state of bodies; replaces what was asked before, and is asked again after a reconnection. */
    inspect(layers: number, picked?: bigint[]): void;
    private send;
    private later;
    private clearTimers;
}
