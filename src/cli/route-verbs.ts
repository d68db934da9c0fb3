// The verbs that are routes and nothing more, by their noun. Each loads the schemas of its family alone.
import { type RouteVerb, routeVerb } from './route-verb.ts'

type Verbs = () => Promise<readonly RouteVerb[]>

const PERSON = '+447700900123'

export const conversationVerbs: Verbs = async () => {
  const { conversations } = await import('../producer/api/conversations/routes.ts')
  return [
    routeVerb('conversations', 'show', conversations.show, { example: `${PERSON} --account 1` }),
    routeVerb('conversations', 'messages', conversations.messages, {
      example: `${PERSON} --account 1 --limit 20`,
      columns: ['accepted_at', 'direction', 'state', 'kind', 'text', 'id'],
      none: 'No messages.',
    }),
  ]
}

export const tagVerbs: Verbs = async () => {
  const { contacts, tags } = await import('../producer/api/contacts/routes.ts')
  return [
    routeVerb('contactBook', 'tags', contacts.tags, { verb: 'list', example: '--account 1', none: 'No lists yet.' }),
    routeVerb('contacts', 'createList', tags.createList, { verb: 'create', example: '--account 1 --name Spring' }),
    routeVerb('contacts', 'fetch', tags.fetch, { verb: 'contacts', example: '--account 1 --tags 1,3' }),
  ]
}

export const contactVerbs: Verbs = async () => {
  const { contacts } = await import('../producer/api/contacts/routes.ts')
  return [routeVerb('contactBook', 'create', contacts.create, { example: `--account 1 --phone ${PERSON} --tags 1` })]
}

export const optOutVerbs: Verbs = async () => {
  const { optOuts } = await import('../producer/api/opt-outs/routes.ts')
  return [routeVerb('optOuts', 'show', optOuts.show, { example: `${PERSON} --account 1` })]
}

export const laneVerbs: Verbs = async () => {
  const { lanes } = await import('../producer/api/lanes/routes.ts')
  return [routeVerb('admin', 'show', lanes.show, { example: '1' })]
}

export const senderVerbs: Verbs = async () => {
  const { senders } = await import('../producer/api/senders/routes.ts')
  return [routeVerb('senders', 'show', senders.show, { example: '1' })]
}

export const portfolioVerbs: Verbs = async () => {
  const { portfolios } = await import('../producer/api/portfolios/routes.ts')
  return [routeVerb('portfolios', 'show', portfolios.show, { example: '1 --account 1' })]
}

export const limitVerbs: Verbs = async () => {
  const { limits } = await import('../producer/api/accounts/routes.ts')
  return [routeVerb('limits', 'list', limits.list, { example: '--account 1' })]
}

export const templateVerbs: Verbs = async () => {
  const { templates } = await import('../producer/api/templates/routes.ts')
  return [routeVerb('templates', 'syncs', templates.syncs, { example: '--account 1', none: 'No sync yet.' })]
}

export const webhookSecretVerbs: Verbs = async () => {
  const { webhookSecrets } = await import('../producer/api/webhooks/routes.ts')
  return [routeVerb('webhookSecrets', 'list', webhookSecrets.list, { example: '--account 1' })]
}

export const messageVerbs: Verbs = async () => {
  const [{ sending }, { lookups, messages }] = await Promise.all([
    import('../producer/api/sending/routes.ts'),
    import('../producer/api/messages/routes.ts'),
  ])
  return [
    routeVerb('sending', 'batch', sending.batch, { verb: 'send-many', example: '--account 1 --body messages.json' }),
    routeVerb('sending', 'service', sending.service, {
      verb: 'send-service',
      example: '--account 1 --body message.json',
    }),
    routeVerb('sending', 'template', sending.template, {
      verb: 'send-template',
      example: '--account 1 --body message.json',
    }),
    routeVerb('lookups', 'info', lookups.info, {
      example: '--account 1 --message-id msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    }),
    routeVerb('lookups', 'delivery', lookups.delivery, {
      example: '--account 1 --message-id msg_1_01M7WMMBQHKTZHMT677YAAW3FV',
    }),
    routeVerb('messages', 'media', messages.media, {
      example: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgUM0E5 --account 1 --output bill.pdf',
    }),
    routeVerb('messages', 'job', messages.job, { example: 'rq_01M7WMMBQHKTZHMT677YAAW3FV --account 1' }),
  ]
}

export const eventVerbs: Verbs = async () => {
  const { events } = await import('../producer/api/events/routes.ts')
  return [
    routeVerb('events', 'pull', events.pull, {
      example: '--account 1 --limit 100',
      columns: ['timestamp', 'type', 'data'],
      none: 'Nothing has happened since.',
    }),
    routeVerb('events', 'change', events.change, {
      verb: 'endpoints change',
      example: 'ep_5f0c2a7d9b1e4f6a8c --account 1 --enabled true',
      words: { url: 'endpoint-url' },
    }),
    routeVerb('events', 'replayed', events.replayed, {
      verb: 'endpoints replayed',
      example: 'ep_5f0c2a7d9b1e4f6a8c rp_01M7WMMBQHKTZHMT677YAAW3FV --account 1',
    }),
  ]
}

const FOLDERS = 'folders'
const FILES = 'files'

export const galleryVerbs: Verbs = async () => {
  const { galleryFolders, galleryFiles } = await import('../producer/api/gallery/routes.ts')
  return [
    routeVerb('galleryFolders', 'list', galleryFolders.list, {
      verb: `${FOLDERS} list`,
      example: '--account 1',
      none: 'No folders yet.',
    }),
    routeVerb('galleryFolders', 'create', galleryFolders.create, {
      verb: `${FOLDERS} create`,
      example: '--account 1 --name Spring',
    }),
    routeVerb('galleryFolders', 'rename', galleryFolders.rename, {
      verb: `${FOLDERS} rename`,
      example: '1 --account 1 --name Summer',
    }),
    routeVerb('galleryFiles', 'list', galleryFiles.list, {
      verb: `${FILES} list`,
      example: '--account 1',
      none: 'No files.',
    }),
    routeVerb('galleryFiles', 'trash', galleryFiles.trash, { verb: `${FILES} trash`, example: '5 --account 1' }),
    routeVerb('galleryFiles', 'restore', galleryFiles.restore, { verb: `${FILES} restore`, example: '5 --account 1' }),
    routeVerb('galleryFiles', 'move', galleryFiles.move, {
      verb: `${FILES} move`,
      example: '--account 1 --file-ids 5,6 --folder-id 2',
    }),
    routeVerb('galleryFiles', 'showMove', galleryFiles.showMove, {
      verb: `${FILES} show-move`,
      example: 'mv_01M7WMMBQHKTZHMT677YAAW3FV --account 1',
    }),
  ]
}

export const consoleVerbs: Verbs = async () => {
  const { consoleLive } = await import('../producer/api/console/routes.ts')
  return [
    routeVerb('consoleLive', 'snapshot', consoleLive.snapshot, { example: '--account 1' }),
    routeVerb('consoleLive', 'history', consoleLive.history, { example: '--account 1 --span hour' }),
  ]
}

export const metricVerbs: Verbs = async () => {
  const { metrics } = await import('../producer/api/health/routes.ts')
  return [routeVerb('metrics', 'metrics', metrics.metrics, { verb: 'show', example: '--account 1' })]
}

export const descriptionVerbs: Verbs = async () => {
  const { reference } = await import('../producer/api/reference/routes.ts')
  return [routeVerb('description', 'openapi', reference.openapi, { verb: 'show', example: '--output openapi.json' })]
}
