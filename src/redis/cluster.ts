// Connections to a Redis Cluster: one to each primary, and one more for what is published.
import { Cluster, type ClusterOptions, type Redis } from 'ioredis'
import { goesOut } from './gathered-writes.ts'

/** A server whose slots have moved says so; a cluster that has not settled yet says it again and again. */
const MOVED_AGAIN_MS = 20
/** After a server was lost it is asked so often where its slots are. */
const LOOK_AGAIN_MS = 200

/** Without TLS ioredis looks names up by itself; with it, the certificate is for the name. */
const asNamed: ClusterOptions['dnsLookup'] = (name, found) => found(null, name)

type Settings = Omit<ClusterOptions, 'dnsLookup' | 'scaleReads' | 'retryDelayOnMoved' | 'redisOptions'> & {
  redisOptions: Omit<NonNullable<ClusterOptions['redisOptions']>, 'replyMapping'>
}

/** The connection of a process to a cluster. */
export class GatheringCluster extends Cluster {
  private looking: NodeJS.Timeout | undefined

  constructor(hosts: { host: string; port: number }[], settings: Settings) {
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
        goesOut(node, args[0])
        return send.apply(node, args)
      }
      // Otherwise the first command opens the connection, and the next one of who fails fast fails until it is open.
      if (!node.options.readOnly) node.connect().catch(() => undefined)
    })
    this.on('-node', () => this.lookAgain())
  }

  /** Who fails fast asks nobody where the slots are when a server is gone. */
  private lookAgain(): void {
    this.looking ??= setTimeout(() => {
      this.looking = undefined
      if (this.status === 'ready') this.refreshSlotsCache()
    }, LOOK_AGAIN_MS).unref()
  }

  /**
   * A connection that blocks, as BullMQ makes one for each of its Workers. All its keys are in one slot: it connects to the
   * server of that slot alone, and hears nothing of what is published.
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
