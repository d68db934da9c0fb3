// Pins: docs/ builds as a site: VitePress reads every page, and every link leads to one.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readPages } from '../support/pages.ts'

test('every page of docs/ is built and searchable', () => {
  const built = spawnSync(process.execPath, ['scripts/docs.mjs', '--build'], { encoding: 'utf8' })
  expect(built.status, built.stdout + built.stderr).toBe(0)
  const pages = readPages().filter(({ path }) => path.startsWith('docs/'))
  const missing = pages.filter(
    ({ path }) => !existsSync(path.replace('docs/', 'docs/.vitepress/dist/').replace(/\.md$/, '.html')),
  )
  expect(missing.map(({ path }) => path)).toEqual([])
  expect(readFileSync('docs/.vitepress/dist/index.html', 'utf8')).toContain('VPNavBarSearch')
  // The ways to make one request are tabs.
  expect(readFileSync('docs/.vitepress/dist/reference/http/portfolios.html', 'utf8')).toContain('vp-code-group')
  // Programs read the Markdown, and find it by one list with a sentence about each page.
  const list = readFileSync('docs/.vitepress/dist/llms.txt', 'utf8')
  const listed = [...list.matchAll(/^- \[(.+?)\]\((.+?)\)(?:: (.*))?$/gm)]
  expect(listed.map(([, , path]) => `docs/${path}`).sort()).toEqual(
    pages
      .map(({ path }) => path)
      .filter((path) => path !== 'docs/index.md')
      .sort(),
  )
  for (const [, title, path = '', about = ''] of listed) {
    expect(readFileSync(`docs/.vitepress/dist/${path}`, 'utf8'), path).toBe(readFileSync(`docs/${path}`, 'utf8'))
    if (!path.startsWith('adr/')) expect(about.length, title).toBeGreaterThan(10)
  }
})
