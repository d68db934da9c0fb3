// Pins: in the console a sender is checked, its templates are taken over from WhatsApp at the press of a button, and a list of a
// thousand of them stays usable.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { withConsoleTab } from '../support/console-tab.ts'
import { slowness } from '../support/machine.ts'

const tab = withConsoleTab()
const { press, dialog, row } = tab

async function control(account: object): Promise<void> {
  const { simulator_url: url } = tab.world.demo
  await fetch(`${url}/_control`, { method: 'POST', body: JSON.stringify({ account }) })
}

const ODD = {
  ...{ id: '1', name: 'order_pay', language: 'en_US', status: 'APPROVED', category: 'UTILITY' },
  components: [
    { type: 'BODY', text: 'Please pay.' },
    { type: 'BUTTONS', buttons: [{ type: 'ORDER_DETAILS', text: 'Pay' }] },
  ],
}

test('a sender is added with its account at WhatsApp, and a check shows what is missing', async () => {
  await control({ number: { display_phone_number: '+44 7700 900777', status: 'PENDING' } })
  const body = {
    ...{ number: '+447700900777', name: 'cloud shop', provider: 'cloud-api', token: 'token' },
    ...{ base_url: tab.world.demo.simulator_url, phone_number_id: '770077', waba_id: '880088' },
  }
  const added = z
    .object({ data: z.object({ id: z.number() }) })
    .parse(await tab.world.api('POST', '/admin/senders', body))
  await tab.page.goto('/console/senders')
  await press(`Check sender ${added.data.id}`)
  await dialog().getByText('its status is PENDING').waitFor()
  await dialog().getByText('Register it with a PIN').waitFor()
  await control({ number: { status: 'CONNECTED' } })
  await dialog().getByRole('button', { name: 'Reload' }).click()
  await dialog().getByText('The number is registered and connected.').waitFor()
  await dialog().getByRole('button', { name: 'Close' }).click()
})

test('templates are copied at the press of a button, with the reason why one cannot be sent', async () => {
  await control({ templates: [ODD] })
  await tab.page.goto('/console/templates')
  await press('Sync with WhatsApp')
  await tab.page.getByText('1 cannot be filled in').first().waitFor()
  await tab.page.getByRole('button', { name: 'Reload' }).last().click()
  await tab.page.getByRole('link', { name: 'order_pay' }).click()
  await tab.page.getByText('It has a button that Laneway cannot fill in: ORDER_DETAILS.').waitFor()
  await tab.page.getByText('Pay cannot be filled in').waitFor()
})

test('a list of a thousand templates is shown in parts, and searched as a whole', async () => {
  await control({ templates: 1_000 })
  await press('Sync with WhatsApp')
  await tab.page.getByText('1,000 templates').first().waitFor()
  const startedAt = performance.now()
  await tab.page.goto('/console/templates')
  await tab.page.getByText(/^100 of 1,0\d\d templates are shown\.$/).waitFor()
  expect(performance.now() - startedAt).toBeLessThan(15_000 * (await slowness()))
  await tab.page.getByLabel('Name').fill('template_777')
  await row('template_777').waitFor()
  await tab.page.getByText('1 template.', { exact: true }).waitFor()
  expect(tab.faults).toEqual([])
})
