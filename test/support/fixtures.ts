// What most tests of the service start, as fixtures of vitest: each is started for the first test of the file that names it,
// and ended after the last one. They live as long as the file and not as the worker of vitest, because another file of the
// worker may stop the clocks of the process, and with them whatever runs there.
import { test as base } from 'vitest'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { runCli } from './cli.ts'
import { startService } from './service.ts'

type ServiceOptions = Parameters<typeof startService>[0]

/**
 * Tests with
 * - `service`: Redis, simulator and producer, and a worker unless the options say `worker: false`;
 * - `tenant`: an account with a sender on each wire, the default one on `provider`;
 * - `api`: a client with its key for sending and looking up; `admin`: one with a key for administration;
 * - `queues`: of its lanes;
 * - `cli`: the command line of the installation, which takes its words.
 */
export const serviceTest = ({ provider, ...options }: ServiceOptions & { provider?: Provider } = {}) =>
  base
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs
    .extend('service', { scope: 'file' }, async ({}, { onCleanup }) => {
      const service = await startService(options)
      onCleanup(() => service.close())
      return service
    })
    .extend('tenant', { scope: 'file' }, ({ service }) => service.addTenant(provider && { defaultProvider: provider }))
    .extend('api', { scope: 'file' }, ({ tenant }) => tenant.api)
    .extend('admin', { scope: 'file' }, ({ tenant }) => tenant.apiWith('admin'))
    .extend('queues', { scope: 'file' }, ({ service }, { onCleanup }) => {
      const queues = openLaneQueues(service.redis)
      onCleanup(() => queues.close())
      return queues
    })
    .extend('cli', { scope: 'file' }, ({ service }) => (...words: readonly string[]) => {
      return runCli(words, service.settings)
    })

type Provider = 'partner-api' | 'cloud-api'
