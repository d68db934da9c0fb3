// Pins: in a browser the page of the description works without any other host, finds operations, and loads by section.
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTab, startBrowser } from '../support/browser.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let browser: Browser
beforeAll(async () => {
  ;[service, browser] = await Promise.all([startService({ worker: false }), startBrowser()])
})
afterAll(async () => {
  await browser?.close()
  await service?.close()
})

test('the page opens without a request to another host, and its policy blocks nothing on it', async () => {
  const { page, faults } = await openTab(browser, service.url)
  const violations: string[] = []
  await page.exposeFunction('violated', (what: string) => violations.push(what))
  await page.addInitScript(
    "document.addEventListener('securitypolicyviolation', (e) => window.violated(e.violatedDirective + ' ' + e.blockedURI))",
  )
  await page.goto('/docs')
  await page.getByText('Idempotency.').first().waitFor()
  expect([...faults, ...violations]).toEqual([])
})

test('the search finds opt-outs, and a section is loaded when it is opened', async () => {
  const { page, faults } = await openTab(browser, service.url)
  await page.goto('/docs')
  const campaigns = page.getByText(
    'Lists campaigns, the latest first; for an operator that names no account, those of all.',
  )
  await campaigns.first().waitFor()
  await page.locator('#nav-bar-search').fill('opt-out')
  await campaigns.first().waitFor({ state: 'hidden' })
  const found = page.getByText('Records that a person wants no advertising.')
  expect(await page.getByText('opted_out', { exact: true }).count()).toBe(0)
  await found.first().click()
  await page.getByText('opted_out', { exact: true }).first().waitFor()
  await page.getByText('contacts:write').first().waitFor()
  expect(faults).toEqual([])
})
