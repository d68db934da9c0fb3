// `npm run client:addresses`: writes packages/client/src/addresses.ts, where each operation of the interface is, from the table of
// routes. `-- --check` says whether it is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { giveUp, prepareBuild, root, typed } from './prepare.mjs'

/** The text of the file. */
function addressesFile(families, callers) {
  const parts = families
    .filter(({ id }) => !callers.includes(id))
    .map(({ id, routes }) => {
      const lines = Object.entries(routes).map(([name, spec]) => {
        const words = [spec.method.toUpperCase(), spec.path, ...traitsOf(spec)].map((word) => `'${word}'`)
        return `    ${name}: [${words.join(', ')}],`
      })
      return `  ${id}: {\n${lines.join('\n')}\n  },`
    })
  return `// Where each operation is: method, path, and what is special. Made by scripts/client-addresses.mjs.
import type { Operations } from './types.ts'

export const ADDRESSES = {
${parts.join('\n')}
} as const satisfies { [F in keyof Operations]: { [K in keyof Operations[F]]: readonly string[] } }
`
}

function traitsOf({ access, headers, body, answers }) {
  const first = Object.values(answers)[0]
  const isBytes = 'contentTypes' in first && !first.contentTypes.includes('application/json')
  return [
    ...(access.in === 'api_key' ? ['api_key'] : []),
    ...(headers && 'Idempotency-Key' in headers.shape ? ['keyed'] : []),
    ...(body.as === 'stream' ? ['upload'] : []),
    ...(isBytes ? ['bytes'] : []),
  ]
}

const { check } = typed({ check: { type: 'boolean' } })
prepareBuild()
const { CALLED_BY_OTHERS, FAMILIES } = await import(pathToFileURL(join(root, 'dist/producer/api/table.js')).href)
const file = join(root, 'packages/client/src/addresses.ts')
const text = addressesFile(FAMILIES, CALLED_BY_OTHERS)
if (check && readFileSync(file, 'utf8') !== text)
  giveUp('packages/client/src/addresses.ts is out of date: npm run client:addresses')
if (!check) writeFileSync(file, text)
