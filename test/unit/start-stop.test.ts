// Pins: in which order a process starts and stops its parts, and that a part that fails leaves no other one running.
import { expect, test } from 'vitest'
import { oneByOne, part, type StartStop, sideBySide } from '../../src/worker/start-stop.ts'
import { gate } from '../support/wait.ts'

/** Parts that write down when they are started and stopped. */
function noted(said: string[]) {
  return (name: string, how: Partial<StartStop> = {}): StartStop => ({
    async start() {
      await how.start?.()
      said.push(`${name} started`)
    },
    async stop() {
      said.push(`${name} stops`)
      await how.stop?.()
      said.push(`${name} stopped`)
    },
  })
}

const fails = (sentence: string) => (): never => {
  throw new Error(sentence)
}

test('parts are started in order, and each is stopped once those after it have stopped', async () => {
  const said: string[] = []
  const of = noted(said)
  const all = oneByOne([of('a'), of('b'), of('c')])
  await all.start()
  expect(said.splice(0)).toEqual(['a started', 'b started', 'c started'])
  await all.stop()
  expect(said).toEqual(['c stops', 'c stopped', 'b stops', 'b stopped', 'a stops', 'a stopped'])
})

test('a part is started once the one before it has started', async () => {
  const said: string[] = []
  const of = noted(said)
  const { open, opened } = gate()
  const starting = oneByOne([of('a', { start: () => opened }), of('b')]).start()
  await new Promise(setImmediate)
  expect(said).toEqual([])
  open()
  await starting
  expect(said).toEqual(['a started', 'b started'])
})

test('parts side by side are started in order and stopped at once, the last one first', async () => {
  const said: string[] = []
  const of = noted(said)
  const { open, opened } = gate()
  const all = oneByOne([of('below'), sideBySide([of('a'), of('b', { stop: () => opened }), of('c')])])
  await all.start()
  expect(said.splice(0)).toEqual(['below started', 'a started', 'b started', 'c started'])
  const stopping = all.stop()
  await new Promise(setImmediate)
  expect(said.splice(0)).toEqual(['c stops', 'b stops', 'a stops', 'c stopped', 'a stopped'])
  open()
  await stopping
  expect(said).toEqual(['b stopped', 'below stops', 'below stopped'])
})

test.each([
  ['one by one', oneByOne],
  ['side by side', sideBySide],
])('a start that fails stops what was started before it, %s, and starts nothing after it', async (_how, join) => {
  const said: string[] = []
  const of = noted(said)
  const broken = of('broken', { start: fails('no file') })
  // The failure of a stop that follows hides nothing.
  const all = oneByOne([of('below'), join([of('a', { stop: fails('nor this') }), broken, of('b')]), of('above')])
  await expect(all.start()).rejects.toThrow('no file')
  expect(said).toEqual(['below started', 'a started', 'a stops', 'below stops', 'below stopped'])
  await all.stop()
  expect(said).toHaveLength(5)
})

test.each([
  ['one by one', oneByOne],
  ['side by side', sideBySide],
])('a stop that throws keeps no other part from being stopped, %s, and is reported', async (_how, join) => {
  const said: string[] = []
  const of = noted(said)
  const all = oneByOne([of('below'), join([of('a'), of('broken', { stop: fails('stuck') }), of('c')])])
  await all.start()
  said.length = 0
  await expect(all.stop()).rejects.toThrow('stuck')
  expect(said.filter((each) => each.endsWith('stopped')).sort()).toEqual(['a stopped', 'below stopped', 'c stopped'])
})

test('no error is lost when several stops throw', async () => {
  const of = noted([])
  const all = oneByOne([of('a', { stop: fails('one') }), of('b', { stop: fails('two') })])
  await all.start()
  await expect(all.stop()).rejects.toMatchObject({ errors: [new Error('two'), new Error('one')] })
})

test('stopping twice stops each part once', async () => {
  const said: string[] = []
  const of = noted(said)
  const all = sideBySide([of('a')])
  await all.start()
  await Promise.all([all.stop(), all.stop()])
  expect(said).toEqual(['a started', 'a stops', 'a stopped'])
})

test('other parts can use what a part has made once it has started, and not before', async () => {
  const stopped: string[] = []
  const one = part(
    async () => ({ name: 'queue' }),
    ({ name }) => stopped.push(name),
  )
  expect(one.running).toThrow('before it was started')
  await one.start()
  expect(one.running().name).toBe('queue')
  await one.stop()
  expect(stopped).toEqual(['queue'])
})
