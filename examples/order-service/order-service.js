// Tells customers that their orders are on the way, and follows each message until it has arrived.
//
//   LANEWAY_URL=http://… API_KEY=lw_… node order-service.js A-1=+447700900123 A-2=+447700900124
//
// With REDIS_URL=redis://… instead it goes through the Redis that Laneway runs on.
import { connectLaneway, LanewayError } from 'laneway-client'

const { LANEWAY_URL: url = '', REDIS_URL: redisUrl, API_KEY: apiKey = '' } = process.env
const orders = process.argv.slice(2).map((word) => {
  const [number = '', phone = ''] = word.split('=')
  return { number, phone }
})

/**
 * What the customer reads.
 * @param {string} order
 * @param {string} phone
 * @returns {import('laneway-client').Message}
 */
const onItsWay = (order, phone) => ({
  to: phone,
  type: 'interactive',
  interactive: {
    type: 'button',
    header: { type: 'text', text: `Order ${order}` },
    body: { text: 'Your order is on its way and arrives today.' },
    action: {
      buttons: [
        { type: 'reply', reply: { id: `${order}-ok`, title: 'Good' } },
        { type: 'reply', reply: { id: `${order}-later`, title: 'Rather tomorrow' } },
      ],
    },
  },
})

async function main() {
  const laneway = await connectLaneway(redisUrl === undefined ? { url, apiKey } : { redisUrl, apiKey })
  try {
    // The key makes it safe to run this again for the same orders: who has been told is not told twice.
    const results = await laneway.sendMany(
      orders.map(({ number, phone }) => ({
        message: onItsWay(number, phone),
        idempotencyKey: `on-its-way-${number}`,
      })),
    )

    /** @type {Map<string, string>} Message id → order. */
    const orderOf = new Map()
    for (const [i, result] of results.entries()) {
      const order = orders[i]?.number ?? ''
      if (result.ok) orderOf.set(result.id, order)
      else failed(`${order}: not sent. ${result.error.message}`)
    }

    for await (const { id, status, errorMessage } of laneway.subscribe(orderOf.keys())) {
      console.log(`${orderOf.get(id)}: ${status}`)
      if (errorMessage !== null) failed(`${orderOf.get(id)}: ${errorMessage}`)
    }
  } finally {
    await laneway.close()
  }
}

/** @param {string} sentence */
function failed(sentence) {
  console.error(sentence)
  process.exitCode = 1
}

await main().catch((error) => {
  if (!(error instanceof LanewayError)) throw error
  failed(error.message)
})
