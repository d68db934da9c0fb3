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
  const send = {
    ...{ api_key, messaging_product: 'chatapp', recipient_type: 'individual', to: RECIPIENT },
    ...{ type: 'text', text: { body: 'Your order is on its way.' } },
  }
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
      curl(`${urls.base}/sendservicemessages/sendmessages`, send),
      '',
      styled('bold', 'Look one up (this one was received; put the id of yours in its place):'),
      curl(`${urls.base}/chatappbusiness/fetchmessageinfo`, { api_key, message_id: inbound_message_id }),
    ],
  }
}

const curl = (url: string, body: unknown): string =>
  `curl -s ${url} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'; echo`
