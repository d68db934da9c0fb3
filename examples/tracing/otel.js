// Loads OpenTelemetry before Laneway: node --import ./examples/tracing/otel.js …
// It writes every span to the output. For a collector put an OTLP exporter in the place of the ConsoleSpanExporter and a
// BatchSpanProcessor in that of the SimpleSpanProcessor.
import { TraceFlags } from '@opentelemetry/api'
import {
  ConsoleSpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  SamplingDecision,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node'

/** Of traces that begin here, so many are recorded: 1 is all, 0.01 one in a hundred. */
const RATIO = Number(process.env.TRACE_RATIO ?? 1)

/**
 * A message is sent in a trace of its own, linked to the one that it was accepted in. Left to chance, hardly any message
 * would be seen in both; so a trace is recorded when what it links to is.
 *
 * @type {import('@opentelemetry/sdk-trace-node').Sampler}
 */
const withTheirLinks = {
  shouldSample(context, traceId, _name, _kind, _attributes, links) {
    const isLinked = links.some((link) => (link.context.traceFlags & TraceFlags.SAMPLED) !== 0)
    if (isLinked) return { decision: SamplingDecision.RECORD_AND_SAMPLED }
    return byChance.shouldSample(context, traceId)
  },
  toString: () => `WithTheirLinks(${byChance})`,
}
const byChance = new TraceIdRatioBasedSampler(RATIO)

const provider = new NodeTracerProvider({
  sampler: new ParentBasedSampler({ root: withTheirLinks }),
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
})
provider.register()
