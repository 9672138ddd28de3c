import type { PushMetricExporter } from '@opentelemetry/sdk-metrics'
import type { SpanExporter } from '@opentelemetry/sdk-trace'

/** The protocols for sending spans and metrics. @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/ */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number]

// Load only the library of the chosen protocol. Each library reads its address and headers from OTEL_EXPORTER_OTLP_….

const spans: Readonly<Record<OtlpProtocol, () => Promise<{ readonly OTLPTraceExporter: new () => SpanExporter }>>> = {
  'http/protobuf': () => import('@opentelemetry/exporter-trace-otlp-proto'),
  'http/json': () => import('@opentelemetry/exporter-trace-otlp-http'),
  grpc: () => import('@opentelemetry/exporter-trace-otlp-grpc'),
}

const metrics: Readonly<
  Record<OtlpProtocol, () => Promise<{ readonly OTLPMetricExporter: new () => PushMetricExporter }>>
> = {
  'http/protobuf': () => import('@opentelemetry/exporter-metrics-otlp-proto'),
  'http/json': () => import('@opentelemetry/exporter-metrics-otlp-http'),
  grpc: () => import('@opentelemetry/exporter-metrics-otlp-grpc'),
}

/** Creates the exporter of spans for a protocol. It sends to OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function createSpanExporter(protocol: OtlpProtocol = 'http/protobuf'): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await spans[protocol]()
  return new OTLPTraceExporter()
}

/** Creates the exporter of metrics for a protocol. It sends to OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function createMetricExporter(protocol: OtlpProtocol = 'http/protobuf'): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } = await metrics[protocol]()
  return new OTLPMetricExporter()
}
