// What all routes of the gallery have in common: where they are, who may use them, what they need.
import type { Config } from '../../config.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Moves } from '../bulk-moves.ts'
import type { Access } from '../route.ts'

export const GALLERY = '/partners/wp-gallery/manage'

export const galleryAccess: Access = { in: 'bearer', permission: 'gallery' }

export interface GalleryDeps {
  redis: Redis
  config: Pick<Config, 'dataDir' | 'publicUrl' | 'uploadMaxBytes' | 'bulkMoveWaitMs'>
  moves: Moves
}
