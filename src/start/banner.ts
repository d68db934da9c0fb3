// What a person sees when everything runs: where it is and what to type next.
import { styleText } from 'node:util'
import type { DemoRecord } from './demo-record.ts'

/** A recipient of the kind that the simulator delivers to; anything outside its reserved range is. */
const RECIPIENT = '+447700900123'

export type BannerContent = { baseUrl: string } & (
  | { demo: { record: DemoRecord; file: string; simulatorUrl: string } }
  /** One sentence. */
  | { whyNoDemo: string }
)

/** The whole banner, several lines. The commands can be copied as they stand. */
export function banner(content: BannerContent, colour: boolean): string {
  const strong = (text: string) => (colour ? styleText('bold', text) : text)
  const weak = (text: string) => (colour ? styleText('dim', text) : text)
  const { baseUrl } = content
  const head = ['', strong(`Laneway is ready at ${baseUrl}`), '']
  const tools = [`  console        ${baseUrl}/console`, '  command line   npm run cli -- --help']
  const foot = ['', weak('Ctrl-C stops everything; the next start finds the same data.'), '', '']
  if ('whyNoDemo' in content) return [...head, ...tools, '', content.whyNoDemo, ...foot].join('\n')

  const { record, file, simulatorUrl } = content.demo
  const { api_key, access_token, auth_token, admin_key, operator_key, inbound_message_id } = record.main
  const send = {
    to: RECIPIENT,
    recipient_type: 'individual',
    messaging_product: 'chatapp',
    api_key,
    type: 'image',
    image: { link: 'https://shop.example/spring.png', caption: 'Spring is here' },
  }
  return [
    ...head,
    `  api_key        ${api_key}   ${weak('messages, contacts')}`,
    `  access_token   ${access_token}   ${weak('gallery')}`,
    `  auth_token     ${auth_token}   ${weak('contact lists')}`,
    `  admin_key      ${admin_key}   ${weak('lanes')}`,
    `  operator_key   ${operator_key}   ${weak('everything')}`,
    ...tools,
    `  simulator      ${simulatorUrl}   ${weak('stands in for the chat product')}`,
    `  all keys       ${file}`,
    '',
    strong('Look around in a browser, and switch made-up traffic on there:'),
    `  ${baseUrl}/console   ${weak('sign in with the operator_key')}`,
    '',
    strong('Send a message:'),
    curl(`${baseUrl}/sendservicemessages/sendmessages`, send),
    '',
    strong('Look one up (this one was received; put the id of yours in its place):'),
    curl(`${baseUrl}/chatappbusiness/fetchmessageinfo`, { api_key, message_id: inbound_message_id }),
    ...foot,
  ].join('\n')
}

const curl = (url: string, body: unknown): string =>
  `curl -s ${url} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'; echo`
