// Where the files of this installation are: the data folder, or the bucket that LANEWAY_FILES_URL names.

import type { BucketAddress } from '../kernel/bucket-address.ts'
import { withPackages } from '../kernel/optional-packages.ts'
import { openFolder } from './folder.ts'
import type { FileStore } from './store.ts'

/** What decides where files are: a Config has it. */
export interface FileSettings {
  dataDir: string
  bucket: BucketAddress | undefined
  filesRedirect: boolean
}

/** Opens the bucket, or else the data folder. Close it. */
export async function openFiles({ dataDir, bucket, filesRedirect }: FileSettings): Promise<FileStore> {
  if (bucket === undefined) return openFolder(dataDir)
  // Loaded only where it is used: it is larger than the rest of a process at rest.
  const { openBucket } = await withPackages(
    'Files in a bucket (LANEWAY_FILES_URL)',
    '@aws-sdk/',
    () => import('./bucket.ts'),
  )
  return openBucket(bucket, dataDir, { gives: filesRedirect })
}
