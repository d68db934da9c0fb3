// Pins: a field of a resource is said in one place. A resource of the test's own has one more field than another, and it is looked for
// wherever routes are made of: checks, description, acts, verbs, forms and lists of the console, calls of the clients, tools of agents.
import { Command } from 'commander'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { AnswerOf, InputOf } from '../../packages/client/src/operation-types.ts'
import { toolsOf } from '../../src/cli/agent-tools.ts'
import { answerText } from '../../src/cli/answer-text.ts'
import { columnsOf, controlsOf } from '../../src/cli/form-fields.ts'
import { resourceVerbs } from '../../src/cli/resource-verbs.ts'
import { nameField, textIdField } from '../../src/producer/api/fields.ts'
import { resource, shapeOf } from '../../src/producer/api/resource.ts'
import { createDescription } from '../../src/producer/openapi/document.ts'

const shape = shapeOf('Shelf', {
  fixed: { id: z.int() },
  fields: {
    name: nameField(100),
    shade: z.enum(['light', 'dark']).describe('How it is painted.').default('light'),
  },
  facts: { books: z.int() },
})

const shelf = resource({
  ...shape,
  noun: 'shelf',
  at: '/admin/shelves',
  params: z.object({ id: textIdField }),
  shown: { id: '1' },
  look: { in: 'bearer', permission: 'admin' },
  mcp: 'read',
})

const shelves = {
  list: shelf.list('Lists shelves.', {}),
  create: shelf.create('Creates a shelf.', { examples: [{ body: { name: 'Poems', shade: 'dark' }, says: 'created' }] }),
  show: shelf.show('Shows a shelf.', {}),
  change: shelf.change('Changes a shelf.', { examples: [{ body: { shade: 'dark' }, says: 'changed' }] }),
  remove: shelf.remove('Removes a shelf.', {}),
}

// In the place of a family of the table, since only these have names.
const ID = 'portfolios'
const family = { id: ID, name: 'Shelves', about: 'Where books stand.', routes: shelves } as const
const verbs = resourceVerbs(ID, shelves)
const verbOf = (name: string) => {
  const found = verbs.find(({ usage }) => usage.split(' ')[0] === name)
  if (found === undefined) throw new Error(`no verb ${name}`)
  return found
}

describe('a field that is said once is', () => {
  test('checked when it is given, has its usual value when it is not, and stays when others are changed', () => {
    const { schema } = shelves.create.body
    expect(schema.parse({ name: 'Poems' })).toEqual({ name: 'Poems', shade: 'light' })
    expect(schema.safeParse({ name: 'Poems', shade: 'blue' }).success).toBe(false)
    expect(shelves.change.body.schema.parse({ name: 'Prose' })).toEqual({ name: 'Prose' })
    expect(shelves.change.body.schema.safeParse({}).error?.issues[0]?.message).toBe('expected at least one change')
  })

  test('part of the answers', () => {
    const shown = { id: 1, name: 'Poems', shade: 'dark', books: 7 }
    expect(shape.document.parse(shown)).toEqual(shown)
    expect(shape.document.safeParse({ ...shown, shade: undefined }).success).toBe(false)
  })

  test('described', () => {
    const { paths = {}, components = {} } = createDescription('1.0.0', [family])
    expect(Object.keys(paths['/admin/shelves'] ?? {})).toEqual(['get', 'post'])
    const described = { properties: { shade: { description: 'How it is painted.' } } }
    for (const name of ['Shelf', 'PortfoliosCreateRequest', 'PortfoliosChangeRequest']) {
      expect(components.schemas?.[name], name).toMatchObject(described)
    }
  })

  test('an option of its verbs, which is sent and printed', () => {
    expect(verbs.map(({ usage }) => usage)).toEqual(['list', 'create', 'show <id>', 'change <id>', 'remove <id>'])
    const create = verbOf('create')
    expect(create.options.find(({ flags }) => flags === '--shade <word>')?.meaning).toBe(
      'how it is painted; one of light, dark; default: light',
    )
    expect(create.example).toBe('--account 1 --name Poems --shade dark')
    const command = new Command().exitOverride()
    for (const { flags } of create.options) command.option(flags)
    const typed = command.parse(create.example.split(' '), { from: 'user' }).opts()
    expect(create.prepare(typed)[0]).toMatchObject({ account: '1', body: { name: 'Poems', shade: 'dark' } })
    const data = [{ id: 1, name: 'Poems', shade: 'dark', books: 7 }]
    expect(answerText(verbOf('list'), 200, { status: true, data, next: null }).split('\n')).toEqual([
      'ID  NAME   SHADE  BOOKS',
      '1   Poems  dark   7',
    ])
  })

  test('a control of the forms and a column of the list in the console', () => {
    expect(controlsOf(shelves.create).shade).toEqual({
      ...{ kind: 'text', label: 'Shade', help: 'How it is painted.' },
      options: ['light', 'dark'],
    })
    expect(Object.keys(controlsOf(shelves.change))).toEqual(['name', 'shade'])
    expect(columnsOf(shelves.list)).toMatchObject({
      shade: { title: 'Shade', kind: 'text' },
      books: { kind: 'number' },
    })
  })

  test('typed in the calls of the clients', () => {
    expectTypeOf<InputOf<typeof shelves.create>['body']>().toEqualTypeOf<{
      name: string
      shade?: 'light' | 'dark' | undefined
    }>()
    expectTypeOf<AnswerOf<typeof shelves.show>['data']>().toEqualTypeOf<{
      id: number
      name: string
      shade: 'light' | 'dark'
      books: number
    }>()
  })

  test('looked at by agents, and its acts are named after it', () => {
    const door = () => Promise.reject(new Error('nobody is asked'))
    const tools = toolsOf(door, { account: '1', testNumbers: [] }, [family])
    expect(tools.map(({ name }) => name)).toEqual(['portfoliosList', 'portfoliosShow'])
    const acts = [shelves.create, shelves.change, shelves.remove].map(({ act }) => act)
    expect(acts).toEqual(['shelf.create', 'shelf.change', 'shelf.remove'])
  })
})
