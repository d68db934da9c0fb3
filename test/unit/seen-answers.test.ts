// Pins: a documented answer that no test has seen is named with its route and status, and one that was seen is not.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unseen, unseenSentence } from '../support/seen-answers.ts'

test('answers that no worker has seen are listed, each with its method, path and status', () => {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-seen-'))
  try {
    const all = unseen(folder)
    expect(all).toContain('GET /jobs/:id 404')
    expect(all).toContain('POST /messages/batch 422')
    expect(all.filter((line) => / (408|500|503)$/.test(line))).toEqual([])
    writeFileSync(join(folder, '1'), 'GET /jobs/:id 404\n')
    writeFileSync(join(folder, '2'), 'POST /messages/batch 422\nGET /jobs/:id 200\n')
    const seen = ['GET /jobs/:id 200', 'GET /jobs/:id 404', 'POST /messages/batch 422']
    expect(unseen(folder)).toEqual(all.filter((line) => !seen.includes(line)))
    expect(unseenSentence(['GET /jobs/:id 404'])).toMatch(/\n {2}GET \/jobs\/:id 404$/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
