// Files in a bucket that speaks S3. What is taken over is sent in parts, so that neither its size nor ours of memory is a
// limit; a part that fails is sent again. An upload that a crash breaks off leaves parts that only the bucket lists:
// docs/guides/operating/files.md names the lifecycle rule that removes them.
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import type { BucketAddress } from '../kernel/bucket-address.ts'
import { FileMissingError, type FileStore, FilesAwayError, type StoredFile } from './store.ts'

/** A producer answers within seconds; a worker waits and tries again by itself. */
const CONNECT_MS = 2_000
/** Without a byte for so long, the request is given up. */
const SILENCE_MS = 10_000
const TRIES = 3
/** Parts of 8 MB reach 80 GB in 10,000 parts, the most there may be; two at a time are 16 MB of memory. */
const PART_BYTES = 8 * 1024 * 1024
const PARTS_AT_ONCE = 2
/** An address that is handed out holds for so long. */
const ADDRESS_SECONDS = 300

/** The files of a bucket, with drafts below `localFolder`. `gives`: whether clients may be sent to the bucket itself. */
export function openBucket(at: BucketAddress, localFolder: string, { gives }: { gives: boolean }): FileStore {
  const client = new S3Client({
    region: at.region,
    forcePathStyle: at.pathStyle,
    maxAttempts: TRIES,
    // Servers other than AWS' own know no checksums of newer kinds.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS, requestTimeout: 0 },
    ...(at.endpoint !== undefined && { endpoint: at.endpoint }),
  })
  const objectAt = (name: string) => ({ Bucket: at.bucket, Key: `${at.prefix}${name}` })

  async function* list(prefix: string): AsyncGenerator<StoredFile> {
    for (let after: string | undefined; ; ) {
      const page = await client
        .send(
          new ListObjectsV2Command({
            Bucket: at.bucket,
            Prefix: `${at.prefix}${prefix}`,
            ...(after && { ContinuationToken: after }),
          }),
        )
        .catch(failed)
      for (const { Key, LastModified } of page.Contents ?? []) {
        if (Key !== undefined) yield { name: Key.slice(at.prefix.length), writtenMs: LastModified?.getTime() ?? 0 }
      }
      after = page.NextContinuationToken
      if (after === undefined) return
    }
  }

  return {
    drafts: join(localFolder, 'incoming'),

    async take(draft, name) {
      const upload = new Upload({
        client,
        params: { ...objectAt(name), Body: createReadStream(draft, { highWaterMark: 1024 * 1024 }) },
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
      })
      await upload.done().catch(failed)
      // Dying before this leaves a draft, which is removed a day later.
      await rm(draft, { force: true })
    },

    async read(name, part) {
      if (part !== undefined && part.to <= part.from) return Readable.from([])
      const range = part && { Range: `bytes=${part.from}-${part.to - 1}` }
      const { Body } = await client.send(new GetObjectCommand({ ...objectAt(name), ...range })).catch(failed)
      if (!(Body instanceof Readable)) throw new FilesAwayError('the bucket answered without a body')
      return Body
    },

    async sizeOf(name) {
      const { ContentLength } = await client.send(new HeadObjectCommand(objectAt(name))).catch(failed)
      if (ContentLength === undefined) throw new FilesAwayError('the bucket did not say how large the file is')
      return ContentLength
    },

    list,

    async remove(name) {
      await client.send(new DeleteObjectCommand(objectAt(name))).catch(failed)
    },

    async addressOf(name, { type, saveAs }) {
      if (!gives) return undefined
      const command = new GetObjectCommand({
        ...objectAt(name),
        ResponseContentType: type,
        ...(saveAs !== undefined && {
          ResponseContentDisposition: `attachment; filename*=UTF-8''${encodeURIComponent(saveAs)}`,
        }),
      })
      return getSignedUrl(client, command, { expiresIn: ADDRESS_SECONDS })
    },

    close: () => client.destroy(),
  }
}

/** Whatever is not "there is none" may be better later: an outage, a throttle, a quota, or credentials to be mended. */
function failed(error: unknown): never {
  if (error instanceof S3ServiceException) {
    const status = error.$metadata.httpStatusCode
    if (error.name === 'NoSuchKey' || error.name === 'NotFound' || (status === 404 && error.name !== 'NoSuchBucket')) {
      throw new FileMissingError('there is no such file', { cause: error })
    }
    throw new FilesAwayError(`the bucket refuses: ${error.name} (${status ?? 'no status'})`, { cause: error })
  }
  throw new FilesAwayError('the bucket cannot be reached', { cause: error })
}
