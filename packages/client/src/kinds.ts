// The kinds of messages that are neither interactive nor a template.

/** An absolute http or https address of a file. */
export interface Linked {
  link: string
}

type Captioned = Linked & { caption?: string | undefined }

/** The message that this one answers, by the chat product's id, or by ours of one from the same sender. */
export interface Answering {
  context?: { message_id: string } | undefined
}

interface ContactCard {
  name: {
    formatted_name: string
    first_name?: string | undefined
    last_name?: string | undefined
    middle_name?: string | undefined
    suffix?: string | undefined
    prefix?: string | undefined
  }
  /** `1990-01-31`. */
  birthday?: string | undefined
  phones?: { phone?: string | undefined; type?: string | undefined; wa_id?: string | undefined }[] | undefined
  emails?: { email?: string | undefined; type?: string | undefined }[] | undefined
  urls?: { url?: string | undefined; type?: string | undefined }[] | undefined
  addresses?:
    | {
        street?: string | undefined
        city?: string | undefined
        state?: string | undefined
        zip?: string | undefined
        country?: string | undefined
        country_code?: string | undefined
        type?: string | undefined
      }[]
    | undefined
  org?: { company?: string | undefined; department?: string | undefined; title?: string | undefined } | undefined
}

/** A kind that may answer another message. */
export type PlainContent =
  | { type: 'text'; text: { body: string; preview_url?: boolean | undefined } }
  | { type: 'image'; image: Captioned }
  | { type: 'audio'; audio: Linked }
  | { type: 'video'; video: Captioned }
  | { type: 'document'; document: Captioned & { filename?: string | undefined } }
  | { type: 'sticker'; sticker: Linked }
  | {
      type: 'location'
      location: { latitude: number; longitude: number; name?: string | undefined; address?: string | undefined }
    }
  | { type: 'contacts'; contacts: ContactCard[] }

/** A reaction to a message; an empty `emoji` takes it back. */
export interface ReactionContent {
  type: 'reaction'
  reaction: { message_id: string; emoji: string }
}
