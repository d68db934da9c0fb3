// The problems that Laneway states by itself, without an answer of the provider.
import { type Problem, WORKER_LATE } from './outcome.ts'

/** Why an attempt that no worker finished is unconfirmed. It says nothing about the message or the provider. */
export const workerLost: Problem = {
  code: 'worker_lost',
  sentence: 'The worker ended before it could write down an answer; the message may have been sent.',
}

/** Its record is gone (evicted, deleted, or older than the retention while no worker ran) before it was settled. */
export const recordLost: Problem = {
  code: 'record_lost',
  sentence: 'Its record was gone before the outcome was known; the message may have been sent.',
}

/**
 * Our own codes of an attempt in doubt. They show nothing about the provider or the message, so the circuit breaker of a campaign
 * neither counts nor names them.
 */
export const OWN_DOUBTS = { workerLost: workerLost.code, workerLate: WORKER_LATE, recordLost: recordLost.code } as const

/** Nobody had claimed it when its recipient was erased. */
export const personErased: Problem = {
  code: 'person_erased',
  sentence: 'Its recipient was erased before it was sent.',
}

/** Nobody had claimed it when its recipient was found among those who want no advertising. */
export const optedOut: Problem = {
  code: 'opted_out',
  sentence: 'Its recipient wants no such messages of the account.',
}

/** Its job was dead-lettered: no attempt was ever made. */
export const deadLetter: Problem = {
  code: 'dead_letter',
  sentence: 'It could not be processed and is kept as a dead letter.',
}
