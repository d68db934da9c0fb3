// What the handlers of the gallery need.
import type { Config } from '../../../config.ts'
import type { FileStore } from '../../../files/store.ts'
import type { Redis } from '../../../redis/connect.ts'
import type { BulkMoves } from './bulk-moves.ts'

/** What the handlers need. `bulkMoveWaitMs` is how long a request waits for its move before it is answered 202. */
export interface GalleryDeps {
  redis: Redis
  config: Pick<Config, 'publicUrl' | 'uploadMaxBytes' | 'bulkMoveWaitMs' | 'limits'> & { files: FileStore }
  moves: BulkMoves
}
