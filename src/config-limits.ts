// Settings of what may be used up: requests, room, time. Apart from the others because each says the same twice, for the
// installation here and for one account in accounts/limits.ts.
import { z } from 'zod'

const DAY_MS = 86_400_000
const GIB = 1024 ** 3

/** A whole number; 0 is no limit. */
const upTo = (most: number) => z.coerce.number().int().min(0).max(most)

/** One entry per variable, as in config.ts. */
export const limitSettings = {
  LANEWAY_LIMIT_ADDRESS_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second from one address, over all producers; 0: no limit'),
  LANEWAY_LIMIT_KEY_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second with one key, unless its account has a limit of its own; 0: no limit'),
  LANEWAY_LIMIT_ACCOUNT_RATE: upTo(1_000_000)
    .default(0)
    .describe('Requests a second with all keys of an account, unless it has a limit of its own; 0: no limit'),
  LANEWAY_LIMIT_WAITING: upTo(1_000_000_000)
    .default(10_000_000)
    .describe('Messages of an account that wait to be sent; about 1 KB of Redis each'),
  LANEWAY_LIMIT_DRAFTS: upTo(1_000_000).default(5_000).describe('Campaigns of an account that were not started yet'),
  LANEWAY_LIMIT_ROWS_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(50 * GIB)
    .describe('Bytes of uploaded rows that are kept for an account'),
  LANEWAY_LIMIT_GALLERY_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(50 * GIB)
    .describe('Bytes of gallery files of an account, with those in the trash'),
  LANEWAY_LIMIT_CONTACTS: upTo(1_000_000_000).default(10_000_000).describe('Contacts of an account'),
  LANEWAY_DISK_RESERVE_BYTES: upTo(Number.MAX_SAFE_INTEGER)
    .default(GIB / 2)
    .describe(
      'Free bytes on the disk of the data folder below which uploads, imports, campaigns and batches are refused',
    ),
  LANEWAY_REDIS_RESERVE_PERCENT: z.coerce
    .number()
    .min(0)
    .max(90)
    .default(10)
    .describe("Share of Redis' maxmemory that is kept for sending: below it the same are refused; 0: none"),
  LANEWAY_TRASH_DAYS: z.coerce
    .number()
    .min(0)
    .max(3_650)
    .default(30)
    .transform((days) => days * DAY_MS)
    .describe('Days that a gallery file stays in the trash before it is removed for good; 0: for ever'),
  LANEWAY_DRAFT_DAYS: z.coerce
    .number()
    .min(0)
    .max(3_650)
    .default(90)
    .transform((days) => days * DAY_MS)
    .describe('Days that a campaign nobody starts is kept after its last change; 0: for ever'),
}

const schema = z.object(limitSettings)

/** The limits out of all settings. */
export const limitsIn = (env: z.infer<typeof schema>) => ({
  limits: {
    addressRate: env.LANEWAY_LIMIT_ADDRESS_RATE,
    keyRate: env.LANEWAY_LIMIT_KEY_RATE,
    accountRate: env.LANEWAY_LIMIT_ACCOUNT_RATE,
    waiting: env.LANEWAY_LIMIT_WAITING,
    drafts: env.LANEWAY_LIMIT_DRAFTS,
    rowsBytes: env.LANEWAY_LIMIT_ROWS_BYTES,
    galleryBytes: env.LANEWAY_LIMIT_GALLERY_BYTES,
    contacts: env.LANEWAY_LIMIT_CONTACTS,
  },
  reserve: { diskBytes: env.LANEWAY_DISK_RESERVE_BYTES, redisPercent: env.LANEWAY_REDIS_RESERVE_PERCENT },
  trashMs: env.LANEWAY_TRASH_DAYS,
  draftMs: env.LANEWAY_DRAFT_DAYS,
})
