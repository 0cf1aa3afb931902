/** Tells the cluster's time. All times are milliseconds; the local ones are of any clock that does not jump. */
export declare class Clock {
    private offset;
    private shown;
    private error;
    private at;
    /** A pong came back: cluster times of arrival and reply, own times of sending and return. */
    observe(sent: number, received: number, replied: number, returned: number): void;
    /** Is anything known? */
    get known(): boolean;
    /** How far it may be off, ms. */
    bound(local: number): number;
    /** The cluster's time. */
    now(local: number): number;
}
/** Which frame to show: as late as updates come, and no later. */
export declare class Pace {
    private lag;
    /** An update of this frame has come; the cluster's present is that one. */
    observe(present: number, frame: number): void;
    /** The frame to show; undefined while nothing is known. */
    shown(present: number, delay: number): number | undefined;
    /** How late updates come, in frames. */
    get frames(): number;
    reset(): void;
}
