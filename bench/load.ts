// The load generator, its own process: keep-alive connections over raw sockets, one request at a time on each. In the
// closed form every connection sends again as soon as it is answered; in the open form requests leave at a given rate
// whatever the answers do, and a message's stamp is the moment it was due, so that waiting counts as latency.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { z } from 'zod'
import { answerQuestions } from './child.ts'
import { messageReader } from './http-messages.ts'
import { type LoadReport, runSchema } from './load-contract.ts'
import { messagesPerRequest, requestMaker } from './traffic.ts'

const BATCH_ID = /"id":"msg_/g

async function run(options: z.infer<typeof runSchema>): Promise<LoadReport> {
  const { traffic, keep, requests = Number.POSITIVE_INFINITY } = options
  const make = requestMaker(traffic)
  const perRequest = messagesPerRequest(traffic)
  const report: LoadReport = { messages: 0, refused: {}, firstRefusal: '', perSecond: 0, bodies: [] }
  const sockets = await Promise.all(Array.from({ length: options.connections }, () => open(options.port)))
  const startedAt = performance.now()
  const deadline = startedAt + options.ms
  let sent = 0
  let answered = 0
  let inTime = 0
  let lastInTimeAt = startedAt

  const isOver = (): boolean => sent >= requests || performance.now() >= deadline
  const idle: Socket[] = []
  const due: number[] = []

  await new Promise<void>((resolve, reject) => {
    const send = (socket: Socket, dueUs: number): void => {
      socket.write(make(options.from + sent, dueUs), 'latin1')
      sent += 1
    }
    const finishIfOver = (): void => {
      if (isOver() && answered === sent) resolve()
    }
    const ready = (socket: Socket): void => {
      const next = options.rate === undefined ? nowUs() : due.shift()
      if (isOver()) finishIfOver()
      else if (next === undefined) idle.push(socket)
      else send(socket, next)
    }
    for (const socket of sockets) {
      const read = messageReader((head, body) => {
        answered += 1
        note(head, body)
        ready(socket)
      })
      socket.on('data', read)
      socket.on('close', () => reject(new Error('a connection was closed')))
      socket.on('error', reject)
    }
    if (options.rate === undefined) for (const socket of sockets) ready(socket)
    else {
      idle.push(...sockets)
      release(options.rate, send, finishIfOver)
    }

    function note(head: string, body: Buffer): void {
      const status = head.slice(9, 12)
      if (status.startsWith('2')) {
        const messages = traffic.kind === 'batch' ? (body.toString('latin1').match(BATCH_ID)?.length ?? 0) : perRequest
        report.messages += messages
        const now = performance.now()
        if (now <= deadline) {
          inTime += messages
          lastInTimeAt = now
        }
      } else {
        report.refused[status] = (report.refused[status] ?? 0) + 1
        report.firstRefusal ||= `${status} ${body.toString('latin1', 0, 300)}`
      }
      if (keep) report.bodies.push(body.toString('latin1'))
    }
  })
  for (const socket of sockets) {
    socket.removeAllListeners('close')
    socket.destroy()
  }
  report.perSecond = inTime === 0 ? 0 : (inTime / (lastInTimeAt - startedAt)) * 1_000
  return report

  /** Lets requests fall due at the rate; one that finds no idle connection waits, and its waiting is measured. */
  function release(rate: number, send: (socket: Socket, dueUs: number) => void, finish: () => void): void {
    const beganUs = nowUs()
    let released = 0
    const timer = setInterval(() => {
      if (isOver()) {
        clearInterval(timer)
        return finish()
      }
      const target = ((nowUs() - beganUs) / 1_000_000) * rate
      for (; released < target && released < requests; released += 1) {
        const dueUs = Math.round(beganUs + (released / rate) * 1_000_000)
        const socket = idle.pop()
        if (socket) send(socket, dueUs)
        else due.push(dueUs)
      }
    }, 1)
  }
}

const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n)

async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return socket
}

answerQuestions({ run: async (detail) => run(runSchema.parse(detail)) })
