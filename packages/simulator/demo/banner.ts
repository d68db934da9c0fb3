// What `npm start` prints about the demo: the keys, and commands that can be copied unchanged.
import { type BannerLines, styled } from '../../../src/start/everything.ts'
import type { DemoRecord, Urls } from './record.ts'

/** A recipient of the kind that the simulator delivers to; anything outside its reserved range is. */
const RECIPIENT = '+447700900123'

/** The lines for the demo of `record`; `file` is demo.json. */
export function bannerLines({ main }: DemoRecord, urls: Urls, file: string): BannerLines {
  const weak = (text: string) => styled('dim', text)
  const { api_key, operator_key, inbound_message_id } = main
  // As in the README: who follows it finds the same.
  const send = { to: RECIPIENT, type: 'text', text: { body: 'Your order is on its way.' } }
  const curl = (path: string, body = ''): string =>
    `curl -s ${urls.base}${path} -H 'Authorization: Bearer ${api_key}'${body}; echo`
  return {
    keys: [
      // An older data folder may have none.
      ...(operator_key === undefined
        ? []
        : [`  operator_key   ${operator_key}   ${weak('everything, and the console')}`]),
      `  api_key        ${api_key}   ${weak('sends messages, reads contacts')}`,
    ],
    tools: [
      `  simulator      ${urls.simulator}   ${weak('stands in for WhatsApp')}`,
      `  all keys       ${file}   ${weak('also for the gallery, contact lists and lanes alone')}`,
    ],
    rest: [
      styled('bold', 'Look around in a browser, and switch made-up traffic on there:'),
      `  ${urls.base}/console   ${weak('sign in with the operator_key')}`,
      '',
      styled('bold', 'Send a message:'),
      curl('/messages', ` -H 'Content-Type: application/json' -d '${JSON.stringify(send)}'`),
      ...(inbound_message_id === undefined
        ? []
        : [
            '',
            styled('bold', 'Look one up (this one was received; put the id of yours in its place):'),
            curl(`/messages/${encodeURIComponent(inbound_message_id)}`),
          ]),
    ],
  }
}
