// A sender as the server lists it; its token is never shown.

/** A business number with its provider and its pace. */
export interface Sender {
  id: number
  number: string
  name: string
  provider: string
  base_url: string
  phone_number_id: string | null
  rate: number
  is_default: boolean
}
