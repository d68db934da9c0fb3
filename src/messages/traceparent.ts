// The header `traceparent` of W3C Trace Context: which trace a request belongs to. Pure.

/** Where a trace goes on: ids in lower-case hex, as OpenTelemetry has them. */
export interface TraceContext {
  traceId: string
  spanId: string
  /** Bit 0: the trace is recorded. */
  traceFlags: number
}

/** Of a later version only what version 00 has is read; it may be longer. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
/** Recorded, and with a random id; what else a sender sets has no meaning yet and is not handed on. */
const KNOWN_FLAGS = 0b11

/** What the text says; undefined for any text that is no `traceparent`. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = FORM.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & KNOWN_FLAGS }
}

/** The same as the header's text, in version 00. */
export const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${traceFlags & KNOWN_FLAGS}`
