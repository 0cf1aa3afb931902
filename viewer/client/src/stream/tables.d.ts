export declare const TRAINED: readonly [Uint8Array, Uint8Array];
