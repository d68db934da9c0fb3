// Starts the simulator: one HTTP server for both wires of WhatsApp and for the underscore paths, with which
// tests and people inspect and control it.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { z } from 'zod'
import { type Answer, writeAnswer } from './answers.ts'
import { excerpt } from './chat-errors.ts'
import { ChatProduct } from './chat-product.ts'
import { isCloudPath, serveCloud, serveMedia } from './cloud-wire.ts'
import { readSimulatorConfig, type SimulatorConfig, StartError } from './config.ts'
import { behaviourTable, control, controlSchema } from './control.ts'
import { askFlow, flowSchema } from './flow.ts'
import { inboundSchema, receive } from './inbound.ts'
import { readJsonBody } from './json-body.ts'
import { click, clickSchema } from './marketing.ts'
import { PartnerWire } from './partner-wire.ts'

/** A simulator that listens. */
export interface Simulator {
  /** Address without a trailing slash. */
  url: string
  /** Stops listening, gives answers under way a moment, cuts what still hangs and drops webhooks that are not due. */
  close(): Promise<void>
}

/**
 * Longer than any client keeps an idle connection: a server that closes first resets requests that cross its close,
 * and a well-behaved number must never see a reset.
 */
const KEEP_ALIVE_MS = 10 * 60 * 1000
/** How long close() waits for answers under way. */
const CLOSE_LIMIT_MS = 1000

/**
 * Starts a simulator in this process; settings that are not given have their documented defaults.
 * @throws StartError when it cannot listen or cannot open its ledger
 */
export async function startSimulator(settings: Partial<SimulatorConfig> = {}): Promise<Simulator> {
  const config = { ...readSimulatorConfig({}), ...settings }
  const product = new ChatProduct(config)
  const partner = new PartnerWire(product)
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, async (request, response) => {
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2)
    try {
      if (request.method === 'GET' && path === '/_ledger') await writeLedger(product, response, query)
      else if (request.method === 'GET' && path === '/_physics') await writePhysics(product, response)
      else writeAnswer(response, await answerOf(product, partner, request, path))
    } catch (error) {
      // the client broke off, or the ledger cannot be written: nothing was accepted
      if (response.headersSent || response.destroyed) response.destroy()
      else writeAnswer(response, internalError(error))
    }
  })
  const url = await listen(server, config).catch(async (error: unknown) => {
    await product.close()
    throw error
  })
  return {
    url,
    async close() {
      await closeServer(server)
      await product.close()
    },
  }
}

/** Everything but the ledger, which is streamed. */
async function answerOf(
  product: ChatProduct,
  partner: PartnerWire,
  request: IncomingMessage,
  path: string,
): Promise<Answer> {
  if (isCloudPath(path)) return serveCloud(product, request, path)
  if (path.startsWith('/_media/') && request.method === 'GET') return serveMedia(product, request, path)
  if (!path.startsWith('/_')) return partner.serve(request, path)
  if (request.headers.origin !== undefined) {
    // A browser marks every POST like this: no web page may have webhooks signed and sent anywhere.
    return { http: 403, body: { message: 'The simulator takes no requests from web pages.' } }
  }
  switch (`${request.method} ${path}`) {
    case 'GET /_health':
      return { http: 200, body: { status: 'ok', accepted: product.ledger.count(), webhooks: product.webhooks.counts } }
    case 'GET /_receipts':
      return { http: 200, body: product.receipts.list() }
    case 'GET /_uploads':
      return { http: 200, body: product.uploads.list() }
    case 'GET /_behaviours':
      return { http: 200, body: behaviourTable() }
    case 'DELETE /_ledger':
      product.ledger.empty()
      product.physics.listing.empty()
      return { http: 200, body: { count: 0 } }
    case 'POST /_control':
      return answerControl(request, controlSchema, (body) => control(product, body))
    case 'POST /_inbound':
      return answerControl(request, inboundSchema, (body) => receive(product, body))
    case 'POST /_click':
      return answerControl(request, clickSchema, (body) => click(product, body))
    case 'POST /_flow':
      return answerControl(request, flowSchema, (body) => askFlow(body, product.config.appSecret))
    default:
      return { http: 404, body: { message: `Nothing is served at ${request.method} ${excerpt(path)}.` } }
  }
}

/** Parses the body of an underscore path and answers with the result, or 400 and a sentence naming the fields. */
async function answerControl<Body>(
  request: IncomingMessage,
  schema: z.ZodType<Body>,
  act: (body: Body) => unknown,
): Promise<Answer> {
  const read = await readJsonBody(request, 'any')
  if ('unreadable' in read) return { http: 400, body: { message: read.unreadable } }
  const parsed = schema.safeParse(read.body)
  if (parsed.success) return { http: 200, body: await act(parsed.data) }
  const sentences = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  return { http: 400, body: { message: `${sentences.join('; ')}.` } }
}

async function writePhysics(product: ChatProduct, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  await pipeline(Readable.from(product.physics.listing.read()), response)
}

async function writeLedger(product: ChatProduct, response: ServerResponse, query: string): Promise<void> {
  if (new URLSearchParams(query).has('count')) {
    writeAnswer(response, { http: 200, body: { count: product.ledger.count() } })
    return
  }
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  await pipeline(product.ledger.read(), response)
}

function internalError(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error)
  return { http: 500, body: { status: false, success: false, message, error: { code: 131000, message } } }
}

/** Resolves to the address that the server then listens on. */
function listen(server: Server, { host, port }: SimulatorConfig): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = `Port ${port} on ${host} is taken; set SIMULATOR_PORT to another one, or to 0 for any free one.`
      const other = `Cannot listen on ${host}:${port} (SIMULATOR_HOST, SIMULATOR_PORT): ${error.message}.`
      reject(new StartError(error.code === 'EADDRINUSE' ? taken : other))
    })
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${bound}`)
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => server.closeAllConnections(), CLOSE_LIMIT_MS)
    server.close(() => {
      clearTimeout(limit)
      resolve()
    })
  })
}
