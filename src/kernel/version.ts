// The version of Laneway that runs, as package.json has it.
import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** Found from here as well as from the compiled file: src/ and dist/ both lie beside package.json. */
const path = new URL('../../package.json', import.meta.url)

export const VERSION: string = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).version
