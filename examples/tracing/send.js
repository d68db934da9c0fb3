// Sends one message as a service does that traces its own requests: with the header `traceparent`. Prints both ids.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.env.LANEWAY_DATA_DIR ?? '.laneway'
const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))

// With an SDK of its own, the service's HTTP client sets this header by itself.
const traceId = randomBytes(16).toString('hex')
const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-01`

const answer = await fetch(`${demo.base_url}/sendservicemessages/sendmessages`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', traceparent },
  body: JSON.stringify({
    api_key: demo.api_key,
    messaging_product: 'chatapp',
    recipient_type: 'individual',
    to: '+447700900123',
    type: 'image',
    image: { link: 'https://example.com/photo.jpg' },
  }),
})
const body = /** @type {any} */ (await answer.json())
if (!answer.ok) throw new Error(body.message)
console.log(`trace ${traceId} message ${body.messages[0].id}`)
