// Files in the gallery of a test service, and what its simulator has of them.
import { join } from 'node:path'
import { z } from 'zod'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { addFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import type { Service } from './service.ts'

/** A PNG with this text in it, which makes its content its own. */
export function pngWith(text: string, bytes = 0): Buffer {
  const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex')
  return Buffer.concat([head, Buffer.from(text), Buffer.alloc(bytes)])
}

/** Puts a file into a new folder of the account's gallery; returns its id. */
export async function addToGallery(
  service: Pick<Service, 'redis' | 'config'>,
  account: number,
  content: Buffer,
  name = 'spring.png',
): Promise<{ id: number; hash: string; path: string }> {
  const files = openFolder(service.config.dataDir)
  const folder = await createFolder(service.redis, account, { name: `folder of ${name}` })
  async function* once() {
    yield content
  }
  const file = await addFile(service.redis, files, account, folder.id, name, await receive(files, once()))
  return {
    id: file.id,
    hash: file.hash,
    path: join(service.config.dataDir, `gallery/${file.hash.slice(0, 2)}/${file.hash}`),
  }
}

const uploadSchema = z.array(
  z.object({ id: z.string(), sender: z.string(), mime_type: z.string(), bytes: z.number(), sha256: z.string() }),
)

/** What the simulator has taken, oldest first. */
export const uploadsOf = async ({ simulator }: Pick<Service, 'simulator'>) =>
  uploadSchema.parse(await (await fetch(`${simulator.url}/_uploads`)).json())

/** Changes how the simulator behaves. */
export async function control({ simulator }: Pick<Service, 'simulator'>, body: object): Promise<void> {
  const answer = await fetch(`${simulator.url}/_control`, { method: 'POST', body: JSON.stringify(body) })
  if (answer.status !== 200) throw new Error(await answer.text())
}
