// Follow an Auramesh world: docs/protocols/client.md and docs/protocols/state-stream.md.

export { Malformed, Reader, Writer, type Quat, type Rect, type Vec3 } from './bytes.js';
export { Clock, Pace } from './clock.js';
export { type Answer, type Area, type Command, type Hit, type Layout, LAYOUTS, type Network } from './commands.js';
export { Connection, type Options, type Status } from './connection.js';
export * from './inspection.js';
export {
  decode,
  encode,
  type Features,
  type FromGateway,
  type Goodbye,
  type Piece,
  type Region,
  type Role,
  type Section,
  SUBPROTOCOL,
  type ToGateway,
  VERSION,
  type Welcome,
  type World,
} from './messages.js';
export { crc32, Player, Recording } from './recording.js';
export { Body, Scene, type SceneListener, toMs } from './scene.js';
export { DEFAULT_MATERIAL, type Material, type Part, type Shape } from './shapes.js';
export { newPose, type Pose, StreamDecoder, StreamError, type StreamSettings, type Track } from './stream/decoder.js';
