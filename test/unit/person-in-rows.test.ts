// Pins: which rows of an uploaded file name a person, and what is left of the file without them.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openFolder } from '../../src/files/folder.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { eraseInRows, findInRows } from '../../src/recipients/person-in-rows.ts'
import { readRows } from '../../src/recipients/rows.ts'

const ANN = '447700901301'
const folder = mkdtempSync(join(tmpdir(), 'laneway-rows-'))
const files = openFolder(folder)
const id = { lane: 1, number: 1 }
mkdirSync(join(folder, campaignFolder(id)), { recursive: true })
afterAll(() => rmSync(folder, { recursive: true }))

async function spansIn(name: string, column: string | undefined) {
  const spans: { offset: number; length: number }[] = []
  for await (const span of findInRows(files, id, name, column, ANN)) spans.push(span)
  return spans
}

/** What the file is without Ann, but for spaces and what separates cells of them. */
async function erased(text: string, { name = 'rows-1.comma.csv', column = 'mobile' as string | undefined } = {}) {
  const path = join(folder, campaignFolder(id), name)
  writeFileSync(path, text)
  const found = await spansIn(name, column)
  expect(await eraseInRows(files, id, name, column, ANN)).toBe(found.length)
  const left = readFileSync(path, 'utf8')
  expect(left).toHaveLength(text.length)
  expect(await spansIn(name, column)).toEqual([])
  return left.replace(/ +/g, '').replace(/^[,"]+$/gm, '')
}
const ndjson = { name: 'rows-1.comma.ndjson' }

describe('a CSV row that names the person', () => {
  test.each([
    ['in the first of two columns of the name', `mobile,name,mobile\n+${ANN},A,+447700901302\n+447700901302,B,\n`],
    ['in the second of two columns of the name', `mobile,name,mobile\n+447700901303,A,+${ANN}\n+447700901302,B,\n`],
    ['with too many cells', `mobile,name,x\n+${ANN},A,B,C\n+447700901302,B,\n`],
    ['in another column, as the cells have shifted', `mobile,name,x\nAnn,+44 7700 901301,\n+447700901302,B,\n`],
    ['in a cell with more than the number', `mobile,name,x\nTel. 0044 (0)7700 901301 home,A,\n+447700901302,B,\n`],
    ['with quotes in a cell', `mobile,name,x\n+${ANN},"A ""B""\n",\n+447700901302,B,\n`],
  ])('%s is blanked', async (_where, text) => {
    const left = await erased(text)
    expect(left).not.toContain('901301')
    expect(left).toMatch(/^mobile,.+\n\n+\+447700901302,B,\n$/)
  })

  test('that an open quote swallowed into a cell is blanked, and no other', async () => {
    const others = ['mobile,x,name\n"1\n', '\n+447700901302,B,\n']
    expect(await erased(others.join(`+${ANN},"A"`))).toBe(others.join(''))
  })

  test('is kept when the person is named only in a column about somebody else', async () => {
    const text = `mobile,name,boss\n+447700901302,B,+${ANN}\n`
    expect(await erased(text)).toBe(text)
  })

  test('is kept when only part of a longer number is equal', async () => {
    const text = `mobile,name\n1${ANN},B\n${ANN}5,C\n`
    expect(await erased(text)).toBe(text)
  })

  test('in a file without a header or without the column is blanked', async () => {
    expect(await erased(`+${ANN},A\n+447700901302,B\n`)).toBe('\n+447700901302,B\n')
    expect(await erased(`phone,name\n+${ANN},A\n+447700901302,B\n`)).toBe('phone,name\n\n+447700901302,B\n')
  })

  test('is blanked whatever its column when the column is unknown', async () => {
    expect(await erased(`handy,name\n+${ANN},A\n+447700901302,B\n`, { column: undefined })).toBe(
      'handy,name\n\n+447700901302,B\n',
    )
  })
})

describe('after a quote that is never closed', () => {
  const head = 'mobile,name,order,day\n+447700901309,A,B,C\n'
  const others = '+447700901302,"Bob,B,C\n+447700901303,N,O,D\n'

  test('a line that names the person is blanked', async () => {
    const text = `${head}${others}+${ANN},"A",B,C\n0044 7700-901301,A,B,C\n+447700901304,P,"Q",R\n`
    expect(await erased(text)).toBe(`${head}${others}\n\n+447700901304,P,"Q",R\n`)
  })

  test('the line that opens the quote is blanked too, and later lines do not become rows', async () => {
    const left = await erased(`${head}\n+${ANN},"Ann,B,C\n+447700901303,N,O,D\n`)
    expect(left).toBe(`${head}\n\n+447700901303,N,O,D\n`)
    const read = async () => {
      for await (const _row of readRows(files, id, 'rows-1.comma.csv', ['mobile']));
    }
    await expect(read()).rejects.toThrow('opens a quote and never closes it')
  })
})

describe('an NDJSON line that names the person', () => {
  test.each([
    ['under a key that stands there twice', `{"mobile":"+${ANN}","mobile":"+447700901302"}`],
    ['as a number', `{"mobile":${ANN}}`],
    ['and breaks off', `{"mobile":"+44 7700 901301","name":"A`],
    ['under another key', `{"Mobile":"+${ANN}"}`],
    ['in a list', `{"mobile":["+${ANN}"]}`],
    ['in letters of another kind', `{"mobile":"\\u002b44770090130\\u0031"}`],
  ])('%s is blanked', async (_where, line) => {
    const other = '{"mobile":"+447700901302"}\n'
    expect(await erased(`${other}${line}\n${other}`, ndjson)).toBe(`${other}\n${other}`)
  })

  test('and is longer than any row is blanked, wherever the person is named', async () => {
    const filler = 'x'.repeat(300_000)
    for (const line of [`${ANN}${filler}`, `${filler} +44 7700 901301 ${filler}`, `${filler}${filler} ${ANN}`]) {
      expect(await erased(`{}\n${line}\n{}\n`, ndjson)).toBe('{}\n\n{}\n')
    }
  })

  test('is kept when it is the row of somebody else', async () => {
    const text = `{"mobile":"+447700901302","boss":{"mobile":"+${ANN}"}}\n{"boss":"+${ANN}","mobile":447700901303}\n`
    const name = join(folder, campaignFolder(id), ndjson.name)
    writeFileSync(name, text)
    expect(await spansIn(ndjson.name, 'mobile')).toEqual([])
  })
})
