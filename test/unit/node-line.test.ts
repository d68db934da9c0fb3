// Pins: a Node past its end of life, or without known fixes, is named in one line, and no other.
import { expect, test } from 'vitest'
import { nodeProblem, ownNodeProblem } from '../../src/kernel/node-line.ts'
import { banner } from '../../src/start/everything.ts'
import { warnOfNode } from '../../src/start/warnings.ts'
import { keptLog } from '../support/app.ts'

test.each([
  ['20.20.2', '2026-05-01', 'Node 20.20.2 is past its end of life since 2026-04-30'],
  ['22.23.4', '2027-05-01', 'past its end of life since 2027-04-30'],
  ['24.22.1', '2028-05-01', 'past its end of life since 2028-04-30'],
  ['26.12.1', '2029-05-01', 'past its end of life since 2029-04-30'],
  ['18.20.4', '2026-11-27', 'Node 18.20.4 is past its end of life'],
  ['25.9.0', '2026-11-27', 'Node 25.9.0 is past its end of life'],
  ['22.23.3', '2026-11-27', 'Node 22.23.3 lacks security fixes that Node 22.23.4 has'],
  ['24.9.9', '2026-11-27', 'Node 24.9.9 lacks security fixes that Node 24.22.1 has'],
])('for Node %s on %s there is a warning: %s', (version, today, sentence) => {
  const problem = nodeProblem(version, today)
  expect(problem).toContain(sentence)
  expect(problem).not.toContain('\n')
})

test.each([
  ['20.20.2', '2026-04-30'],
  ['22.23.4', '2027-04-30'],
  ['22.24.0', '2026-11-27'],
  ['24.22.1', '2026-11-27'],
  ['26.12.1', '2029-04-30'],
  ['27.0.0', '2026-11-27'],
  ['28.1.0', '2031-01-01'],
])('for Node %s on %s there is no warning', (version, today) => {
  expect(nodeProblem(version, today)).toBeUndefined()
})

test('the log of a start has the warning in one line, and the start goes on', () => {
  const { log, lines } = keptLog()
  warnOfNode(log, 'Node 20.20.2 is past its end of life.')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, msg: 'node.outdated', problem: 'Node 20.20.2 is past its end of life.' }),
  ])
})

test('the banner has the warning in a line of its own below everything else, and none if nothing is wrong', () => {
  const lines = { keys: ['  api_key  x'], tools: [], rest: ['No demo.'] }
  const printed = (problem?: string) => banner('http://localhost:3000', lines, problem).split('\n')
  const problem = 'Node 20.20.2 is past its end of life.'
  const end = ['Ctrl-C stops everything; the next start finds the same data.', '', '']
  expect(printed(problem).slice(-7)).toEqual(['No demo.', '', problem, '', ...end])
  // Without being told, it looks at the Node that runs it.
  expect(printed().filter((line) => line.startsWith('Node '))).toEqual([ownNodeProblem()].filter(Boolean))
})
