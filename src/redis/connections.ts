// The connections that a process makes, to one server or to a cluster, on top of ioredis: they join their writes, and do what
// ioredis leaves undone when a server does not answer, is replaced by another one, or is lost.
import { Cluster, type ClusterOptions, type Command, Redis, type RedisOptions } from 'ioredis'
import { afterRunning } from '../kernel/running-time.ts'
import { corkForTurn } from './joined-writes.ts'
import { watchSentinels } from './sentinels.ts'

type Sent = (node: Redis, command: Command) => void
const listeners: Sent[] = []

/** `sent` is called for each command right before it goes out on a connection to a server. */
export const onSent = (sent: Sent): void => void listeners.push(sent)

/** Says that a command goes out on this connection, in this turn's write. It is rejected if it has no answer after `answerMs`. */
function goesOut(node: Redis, command: Command, answerMs: number | undefined): void {
  corkForTurn(node)
  for (const sent of listeners) sent(node, command)
  if (answerMs !== undefined) limitAnswer(command, answerMs)
}

/**
 * In place of ioredis's `commandTimeout`, which rejects what is answered already when the process stood still for as long: a request that
 * was written down would be answered 503.
 */
function limitAnswer(command: Command, answerMs: number): void {
  const cancel = afterRunning(answerMs, () => {
    if (!command.isSettled) command.reject(new Error('Command timed out'))
  })
  command.promise.then(cancel, cancel)
}

/** The connection of a process to one server: the only one, or the primary that Sentinel names. */
export class CorkedRedis extends Redis {
  /** Connections that block: BullMQ makes one for each of its Workers. */
  private readonly blocking = new Set<Pick<Redis, 'disconnect' | 'status'>>()
  /** The socket that is being left. */
  private left: Redis['stream'] | undefined
  private readonly answerMs: number | undefined

  /** Without `answerMs` commands wait for their answers for ever. */
  constructor(options: Omit<RedisOptions, 'replyMapping'>, how: { answerMs?: number | undefined; url?: string } = {}) {
    if (how.url === undefined) super(options)
    else super(how.url, options)
    this.answerMs = how.answerMs
    // Another server may be the primary now. A client that blocks on the old one does not notice.
    if (options.sentinels) {
      this.on('close', () => {
        // One that is just being made finds the new one; to interrupt it would end it for good.
        for (const each of this.blocking) if (each.status === 'ready') each.disconnect(true)
      })
      watchSentinels(this)
    }
  }

  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    goesOut(this, args[0], this.answerMs)
    return super.sendCommand(...args)
  }

  /**
   * Each command that a read-only server refuses asks for a new connection. Once is enough: ioredis would add a listener and a timer to
   * the old socket for each of them.
   */
  override disconnect(reconnect = false): void {
    const isOpen = this.status === 'connect' || this.status === 'ready'
    if (reconnect && isOpen && this.stream === this.left) return
    this.left = isOpen ? this.stream : undefined
    super.disconnect(reconnect)
  }

  /** A plain connection with the same options; it follows this one to another primary. */
  override duplicate<Override extends Partial<RedisOptions> | undefined = undefined>(override?: Override) {
    const copy = super.duplicate(override)
    this.blocking.add(copy)
    copy.once('end', () => this.blocking.delete(copy))
    return copy
  }
}

/** A server whose slots have moved answers so; a cluster that has not settled yet does so again and again. */
const MOVED_AGAIN_MS = 20
/** How often the location of slots is read after a server was lost. */
const READ_SLOTS_AGAIN_MS = 200

/** Without TLS ioredis looks names up by itself; with it, the certificate is for the name. */
const asNamed: ClusterOptions['dnsLookup'] = (name, found) => found(null, name)

type Settings = Omit<ClusterOptions, 'dnsLookup' | 'scaleReads' | 'retryDelayOnMoved' | 'redisOptions'> & {
  redisOptions: Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>
  answerMs: number | undefined
}

/** The connection of a process to a cluster: one to each primary, and one more for what is published. */
export class CorkedCluster extends Cluster {
  private readingSlots: NodeJS.Timeout | undefined

  constructor(hosts: { host: string; port: number }[], { answerMs, ...settings }: Settings) {
    super(hosts, {
      ...settings,
      ...(settings.redisOptions.tls ? { dnsLookup: asNamed } : {}),
      scaleReads: 'master',
      retryDelayOnMoved: MOVED_AGAIN_MS,
      // It asks whether all slots are served. Those that are can be used.
      enableReadyCheck: false,
    })
    this.on('+node', (node: Redis) => {
      const send = node.sendCommand
      node.sendCommand = (...args) => {
        goesOut(node, args[0], answerMs)
        return send.apply(node, args)
      }
      // Otherwise the first command opens the connection, and on a fail-fast connection, commands fail until it is open.
      if (!node.options.readOnly) node.connect().catch(() => undefined)
    })
    this.on('-node', () => this.readSlotsSoon())
  }

  /** With fail-fast, no other server is tried for the slots of a lost one. */
  private readSlotsSoon(): void {
    this.readingSlots ??= setTimeout(() => {
      this.readingSlots = undefined
      if (this.status === 'ready') this.refreshSlotsCache()
    }, READ_SLOTS_AGAIN_MS).unref()
  }

  /**
   * A connection that blocks, as BullMQ makes one for each of its Workers. All its keys are in one slot: it connects to the
   * server of that slot alone, and gets no published messages.
   */
  override duplicate(...args: Parameters<Cluster['duplicate']>) {
    const copy = super.duplicate(...args)
    const subscriber: unknown = Reflect.get(copy, 'subscriber')
    if (typeof subscriber === 'object' && subscriber !== null) Reflect.set(subscriber, 'start', () => undefined)
    const send = copy.sendCommand
    copy.sendCommand = (command, stream, node: unknown) => {
      // BullMQ asks any server for its version.
      if (command.name !== 'info') return send.call(copy, command, stream, node)
      this.info().then(command.resolve, command.reject)
      return command.promise
    }
    return copy
  }
}
