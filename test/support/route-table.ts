// The table of all routes, as data: what the tests hold the application to, and what the proof hangs up on.
import type { Permission } from '../../src/accounts/store/credentials.ts'

export interface DeclaredRoute {
  /** `POST /folders/:id` */
  name: string
  method: string
  /** With its parameters replaced by values that could be right. */
  path: string
  /** Where the key travels; `none` for routes that look after themselves. */
  key: 'api_key' | 'bearer' | 'none'
  needs: Permission | undefined
  /** `object`: a JSON object is asked for; `maybe`: it may be left out; `other`: no JSON. */
  body: 'object' | 'maybe' | 'other'
  limitBytes: number
}

const GALLERY = '/partners/wp-gallery/manage'
const KB = 1_024

const TABLE = `
GET    /healthz                                        none     -               other
GET    /readyz                                         none     -               other
POST   /sendservicemessages/sendmessages               api_key  messages:send   object
POST   /chatappbusiness/send-templated-message         api_key  messages:send   object
POST   /messages/batch                                 bearer   messages:send   object  4096
GET    /messages/:id                                   bearer   messages:read   other
POST   /messages/:id/cancel                            bearer   messages:send   other
POST   /messages/:id/requeue                           bearer   messages:send   other
POST   /messages/requeue                               bearer   messages:send   object
GET    /jobs/:id                                       bearer   messages:send   other
POST   /chatappbusiness/fetchmessageinfo               api_key  messages:read   object
POST   /chatappbusiness/getmessgageinfobyid            api_key  messages:read   object
GET    ${GALLERY}/folders                              bearer   gallery         other
POST   ${GALLERY}/folders                              bearer   gallery         object
PUT    ${GALLERY}/folders/:folder_id                   bearer   gallery         object
PUT    ${GALLERY}/folders/                             bearer   gallery         object
POST   ${GALLERY}/files/bulk-move                      bearer   gallery         object
GET    ${GALLERY}/jobs/:job_id                         bearer   gallery         other
GET    ${GALLERY}/files                                bearer   gallery         other
POST   ${GALLERY}/files                                bearer   gallery         other
DELETE ${GALLERY}/files/:file_id                       bearer   gallery         other
POST   ${GALLERY}/files/:file_id/restore               bearer   gallery         other
DELETE ${GALLERY}/files/                               bearer   gallery         other
POST   ${GALLERY}/files//restore                       bearer   gallery         other
GET    /media/:token/:name                             none     -               other
POST   /api/betav3/tagmanage/tag/fetchContactsTagWise  api_key  contacts:read   object
POST   /partners/broadcast/addnewcontacttag            bearer   contacts:write  object
POST   /campaigns                                      bearer   messages:send   object
GET    /campaigns                                      bearer   messages:read   other
GET    /campaigns/:id                                  bearer   messages:read   other
POST   /campaigns/:id/preflight                        bearer   messages:send   maybe
POST   /campaigns/:id/schedule                         bearer   messages:send   maybe
POST   /campaigns/:id/start                            bearer   messages:send   maybe
POST   /campaigns/:id/pause                            bearer   messages:send   maybe
POST   /campaigns/:id/cancel                           bearer   messages:send   maybe
POST   /campaigns/:id/resume                           bearer   messages:send   maybe
POST   /campaigns/:id/rows                             bearer   messages:send   other
GET    /campaigns/:id/export                           bearer   messages:read   other
GET    /campaigns/:id/refused                          bearer   messages:read   other
GET    /admin/lanes                                    bearer   admin           other
POST   /admin/lanes/:lane/pause                        bearer   admin           maybe
POST   /admin/lanes/:lane/resume                       bearer   admin           other
POST   /admin/lanes/:lane/rate                         bearer   admin           object
GET    /webhooks/cloud-api                             none     -               other
POST   /webhooks/cloud-api                             none     -               other
`

/** Values that parameters may have; none of these things exists. */
const PARAMETERS: Readonly<Record<string, string>> = {
  folder_id: '999999',
  file_id: '999999',
  job_id: 'mv_01JD3V5T9GZQ4XNB8M2K6R0WCY',
  token: 'no-such-token',
  name: 'x.png',
  id: 'cmp_999999_1',
  lane: '999999',
}

export const withParameters = (path: string, values: Readonly<Record<string, string>> = PARAMETERS): string =>
  path.replaceAll(/:(\w+)/g, (whole, name: string) => values[name] ?? whole)

export const DECLARED: readonly DeclaredRoute[] = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [method = '', path = '', key, needs, body, limitKb = '256'] = line.split(/\s+/)
    return {
      name: `${method} ${path}`,
      method,
      path: withParameters(path),
      key: oneOf(key, 'api_key', 'bearer', 'none'),
      needs: needs === '-' ? undefined : (needs as Permission),
      body: oneOf(body, 'object', 'maybe', 'other'),
      limitBytes: Number(limitKb) * KB,
    }
  })

function oneOf<const T extends string>(text: string | undefined, ...words: T[]): T {
  const found = words.find((word) => word === text)
  if (found === undefined) throw new Error(`expected one of ${words.join(', ')}, got ${text}`)
  return found
}
