import type { PushMetricExporter } from '@opentelemetry/sdk-metrics'
import type { SpanExporter } from '@opentelemetry/sdk-trace'

/** How spans and metrics are sent. @see https://opentelemetry.io/docs/specs/otel/protocol/exporter/ */
export const OTLP_PROTOCOLS = ['http/protobuf', 'http/json', 'grpc'] as const
export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number]

// Only the library of the chosen protocol is loaded. Each library reads its address and headers from OTEL_EXPORTER_OTLP_….

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

/** Makes the exporter of spans for a protocol. Its address is in OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function createSpanExporter(protocol: OtlpProtocol = 'http/protobuf'): Promise<SpanExporter> {
  const { OTLPTraceExporter } = await spans[protocol]()
  return new OTLPTraceExporter()
}

/** Makes the exporter of metrics for a protocol. Its address is in OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function createMetricExporter(protocol: OtlpProtocol = 'http/protobuf'): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } = await metrics[protocol]()
  return new OTLPMetricExporter()
}
