// Follow an Auramesh world: docs/protocols/client.md and docs/protocols/state-stream.md.
export { Malformed, Reader, Writer } from './bytes.js';
export { Clock, Pace } from './clock.js';
export { LAYOUTS } from './commands.js';
export { Connection } from './connection.js';
export * from './inspection.js';
export { decode, encode, SUBPROTOCOL, VERSION, } from './messages.js';
export { crc32, Player, Recording } from './recording.js';
export { Body, Scene, toMs } from './scene.js';
export { DEFAULT_MATERIAL } from './shapes.js';
export { newPose, StreamDecoder, StreamError } from './stream/decoder.js';
//# sourceMappingURL=index.js.map