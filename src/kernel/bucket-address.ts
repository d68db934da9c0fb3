// The address of a bucket for files, as LANEWAY_FILES_URL writes it:
//   s3://bucket/prefix?endpoint=https://storage.example.com&region=eu-central-1&path_style=true

import { z } from 'zod'

/** Where a bucket is. Credentials come from the variables that AWS' own tools read. */
export interface BucketAddress {
  bucket: string
  /** What all names begin with: empty, or with a slash at its end. */
  prefix: string
  endpoint: string | undefined
  region: string
  pathStyle: boolean
}

const FORM = 's3://bucket/prefix?endpoint=https://…&region=…&path_style=true'

const parametersSchema = z.strictObject({
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  region: z.string().min(1).default('us-east-1'),
  path_style: z.enum(['true', 'false']).default('false'),
})

/** Reads the address; throws an Error whose message names what is wrong with it. */
export function parseBucketAddress(text: string): BucketAddress {
  if (!URL.canParse(text)) throw new Error(`expected ${FORM}`)
  const url = new URL(text)
  if (url.protocol !== 's3:') throw new Error(`expected ${FORM}`)
  if (url.username !== '' || url.password !== '') {
    throw new Error('credentials do not belong here: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) throw new Error('the name of the bucket is not valid')
  const given = parametersSchema.safeParse(Object.fromEntries(url.searchParams))
  if (!given.success) {
    const [issue] = given.error.issues
    throw new Error(`${issue?.path.join('.') || 'its parameters'}: ${issue?.message ?? 'not valid'}; expected ${FORM}`)
  }
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '')
  return {
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: given.data.endpoint,
    region: given.data.region,
    pathStyle: given.data.path_style === 'true',
  }
}
