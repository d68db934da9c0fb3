// Spans of OpenTelemetry, made through its API alone: to get traces, load an SDK (docs/guides/operating/tracing.md).
// Without one nothing here creates anything: a message costs one check, and the trace of a request is only passed on.
//
// Names and attributes follow the semantic conventions for messaging, which may still change, so they are in this file alone. A span
// holds ids, class and codes of a message, nothing else of it.
import {
  type Attributes,
  type Context,
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { refusalCodeOf } from './refusal.ts'

const NAME = 'laneway'
const SYSTEM = { 'messaging.system': NAME }

/** The tracer of the SDK that is loaded; undefined without one. */
function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(NAME) : provider.getTracer(NAME)
}

/** What is known of a span's work when it ends. */
export interface SpanEnd {
  /** Why it did not do what it should: a code. */
  error?: string | undefined
  /** Somebody must act: the span counts as failed. */
  isFault?: boolean
}

/** A request that is to be accepted. */
export interface Acceptance {
  account: number
  /** As the request had it: any text. */
  traceparent?: string | undefined
}

/**
 * The same function, which accepts a request, with each call inside a span `accept`: a child of the span that is active, as
 * one of an instrumented HTTP server, or else of what the request named. `accept` gets the trace that the jobs of its
 * messages are to hold, undefined where there is none. `idsOf`: of the messages that it accepted.
 */
export function inAcceptSpan<D, R extends Acceptance, T>(
  kind: 'one' | 'batch',
  accept: (deps: D, request: R, trace: string | undefined) => Promise<T>,
  idsOf: (accepted: T) => readonly string[],
): (deps: D, request: R) => Promise<T> {
  return (deps, request) => {
    const found = tracer()
    const given = parseTraceparent(request.traceparent)
    const carried = given && writeTraceparent(given)
    if (found === undefined) return accept(deps, request, carried)
    const attributes = {
      ...SYSTEM,
      'messaging.operation.name': 'accept',
      'messaging.operation.type': 'create',
      'laneway.account': request.account,
    }
    const active = context.active()
    const parent =
      given && trace.getSpan(active) === undefined ? trace.setSpanContext(active, { ...given, isRemote: true }) : active
    const span = found.startSpan('accept', { kind: SpanKind.PRODUCER, attributes }, parent)
    const work = async (): Promise<T> => {
      const accepted = await accept(deps, request, isRecorded(span) ? writeTraceparent(span.spanContext()) : carried)
      const ids = idsOf(accepted)
      if (kind === 'batch') span.setAttribute('messaging.batch.message_count', ids.length)
      else if (ids[0] !== undefined) span.setAttribute('messaging.message.id', ids[0])
      return accepted
    }
    const failed = (error: unknown): SpanEnd => {
      // A refusal is no error.
      const code = refusalCodeOf(error)
      return code === undefined ? { error: nameOf(error), isFault: true } : { error: code }
    }
    return within(span, parent, work, () => ({}), failed)
  }
}

const NOBODY = (): void => undefined

/** Whether traces are recorded at all. */
export const isTracing = (): boolean => tracer() !== undefined

/** An attempt for a message that has been claimed. */
export interface TracedAttempt {
  message: string
  lane: number
  class: string
  provider: string
  attempt: string
  /** The trace that the job of the message holds. */
  carried: string | undefined
}

/**
 * Makes the attempt inside a span `send`: a root of its own, for a message may wait for days, linked to what its job holds.
 * `attempt` gets the trace that the request to the provider is to carry, undefined for none, and reports how it ended.
 */
export function traceSend<T>(
  of: TracedAttempt,
  attempt: (traceparent: string | undefined, ended: (end: SpanEnd & { outcome: string }) => void) => Promise<T>,
): Promise<T> {
  const found = tracer()
  if (found === undefined) return attempt(of.carried, NOBODY)
  const linked = parseTraceparent(of.carried)
  const attributes = {
    ...SYSTEM,
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': String(of.lane),
    'messaging.message.id': of.message,
    'laneway.class': of.class,
    'laneway.provider': of.provider,
    'laneway.attempt': of.attempt,
  }
  const links = linked ? [{ context: { ...linked, isRemote: true } }] : []
  const root = trace.deleteSpan(context.active())
  const span = found.startSpan('send', { kind: SpanKind.CLIENT, root: true, attributes, links }, root)
  let end: SpanEnd = {}
  const ended = ({ outcome, ...rest }: SpanEnd & { outcome: string }): void => {
    span.setAttribute('laneway.outcome', outcome)
    end = rest
  }
  // A trace that nobody records is of no use to the provider.
  const handedOn = isRecorded(span) ? writeTraceparent(span.spanContext()) : of.carried
  return within(
    span,
    root,
    () => attempt(handedOn, ended),
    () => end,
  )
}

/** Records the outcome of an attempt in a span `settle`, a child of the active one. */
export function traceSettle<T>(settle: () => Promise<T>): Promise<T> {
  const found = tracer()
  if (found === undefined) return settle()
  const active = context.active()
  const attributes = { ...SYSTEM, 'messaging.operation.name': 'settle', 'messaging.operation.type': 'settle' }
  return within(found.startSpan('settle', { attributes }, active), active, settle, () => ({}))
}

/** Records a round of a fan-out that put messages on its lane: a root span, from `beganAtMs` (epoch) until now. */
export function traceRound(of: { campaign: string; lane: number; recipients: number; beganAtMs: number }): void {
  const attributes = {
    ...SYSTEM,
    'messaging.operation.name': 'fan-out',
    'messaging.destination.name': String(of.lane),
    'messaging.batch.message_count': of.recipients,
    'laneway.campaign': of.campaign,
  } satisfies Attributes
  const options = { kind: SpanKind.PRODUCER, root: true, attributes, startTime: of.beganAtMs }
  tracer()?.startSpan('fan-out round', options, ROOT_CONTEXT).end()
}

/** Names the trace in a line of the log that is written inside a span that is recorded. */
export function traceOfLog(): object {
  const span = trace.getActiveSpan()
  if (span === undefined || !isRecorded(span)) return {}
  const { traceId, spanId, traceFlags } = span.spanContext()
  return { trace_id: traceId, span_id: spanId, trace_flags: traceFlags }
}

async function within<T>(
  span: Span,
  parent: Context,
  work: () => Promise<T>,
  ended: () => SpanEnd,
  failed: (error: unknown) => SpanEnd = (error) => ({ error: nameOf(error), isFault: true }),
): Promise<T> {
  try {
    const done = await context.with(trace.setSpan(parent, span), work)
    note(span, ended())
    return done
  } catch (error) {
    note(span, failed(error))
    throw error
  } finally {
    span.end()
  }
}

/** The code alone: the sentence of an error may quote message text. */
function note(span: Span, { error, isFault = false }: SpanEnd): void {
  if (error !== undefined) span.setAttribute('error.type', error)
  if (isFault) span.setStatus({ code: SpanStatusCode.ERROR })
}

const isRecorded = (span: Span): boolean => (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'Error')

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
/** Recorded, and with a random id; other bits have no meaning yet and are not passed on. */
const KNOWN_FLAGS = 0b11

/** Parses a `traceparent`; undefined for any other text. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = FORM.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & KNOWN_FLAGS }
}

/** The same as the header's text, in version 00. */
const writeTraceparent = ({ traceId, spanId, traceFlags }: TraceContext): string =>
  `00-${traceId}-${spanId}-0${traceFlags & KNOWN_FLAGS}`
