// A Redis that answers late, for the processes of a contender. The bench itself talks to the server behind it.
import { z } from 'zod'
import { type Child, startChild } from './child.ts'
import type { Closing } from './closing.ts'

export interface LateRedis {
  /** Where a contender's processes find the server of this URL. */
  through(url: string): Promise<string>
  /** Answers are late from now on, not while a backlog is built up. */
  begin(): Promise<void>
  /** They are in time again. */
  end(): Promise<void>
}

/** Each answer comes `ms` later; with 0 nothing is put in between. */
export function createLateRedis(ms: number, closing: Closing): LateRedis {
  let proxy: Child | undefined
  return {
    async through(url) {
      if (ms === 0) return url
      proxy = await startChild('late-proxy-process')
      closing.add(proxy.stop)
      const at = new URL(url)
      at.port = String(await proxy.ask('listen', Number(at.port), z.number()))
      return at.href
    },
    async begin() {
      await proxy?.ask('delay', ms, z.unknown())
    },
    async end() {
      await proxy?.ask('delay', 0, z.unknown())
    },
  }
}
