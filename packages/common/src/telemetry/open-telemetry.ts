import { createMetrics, type Metrics, type MetricsConfig } from './metrics.ts'
import type { OtlpProtocol } from './otlp-exporters.ts'
import { startTracing, type Tracing, type TracingConfig } from './tracing.ts'

/** The metrics and traces of a process. */
export interface Telemetry {
  readonly metrics: Metrics
  readonly tracing: Tracing
}

/** The settings of a service for metrics and traces. */
export interface TelemetrySettings {
  readonly metrics: Omit<MetricsConfig, 'otlpProtocol' | 'resource'>
  readonly tracingEnabled: boolean
  readonly otlpProtocol: OtlpProtocol
}

/** Starts metrics and traces of one resource. `scrub` removes secrets from spans. */
export async function openTelemetry(
  { metrics, tracingEnabled, otlpProtocol }: TelemetrySettings,
  { resource, scrub }: Pick<TracingConfig, 'resource' | 'scrub'>,
): Promise<Telemetry> {
  const [openMetrics, tracing] = await Promise.all([
    createMetrics({ ...metrics, otlpProtocol, resource }),
    startTracing({ enabled: tracingEnabled, otlpProtocol, resource, scrub }),
  ])
  return { metrics: openMetrics, tracing }
}
