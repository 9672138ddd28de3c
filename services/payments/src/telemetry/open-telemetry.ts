import { createLogger, type ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { createMetrics, type Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startTracing, type Tracing } from '@trestle/common/telemetry/tracing.ts'
import type { PaymentsConfig } from '../config.ts'
import { VERSION } from '../version.ts'
import { scrub } from './scrub.ts'

/** The metrics and traces of a process. */
export interface Telemetry {
  readonly metrics: Metrics
  readonly tracing: Tracing
}

/** Starts metrics and traces. `scrub` takes card numbers out of every span. */
export async function openTelemetry(
  config: Pick<PaymentsConfig, 'metrics' | 'otlpProtocol' | 'tracingEnabled'>,
): Promise<Telemetry> {
  const resource = { 'service.name': 'payments', 'service.version': VERSION }
  const [metrics, tracing] = await Promise.all([
    createMetrics({ ...config.metrics, otlpProtocol: config.otlpProtocol, resource }),
    startTracing({ enabled: config.tracingEnabled, otlpProtocol: config.otlpProtocol, resource, scrub }),
  ])
  return { metrics, tracing }
}

/** Members that the log redacts, beside those that every service redacts. */
const SECRET_PATHS = ['value', 'card', 'hints', 'iban', 'email', '*.value', '*.card', '*.hints', '*.iban', '*.email']

/** The log of a process. @throws Error naming the file when it cannot be written */
export function createPaymentsLog(config: Pick<PaymentsConfig, 'logLevel' | 'logFile'>): ServiceLogger {
  return createLogger({ level: config.logLevel, file: config.logFile, redact: SECRET_PATHS, scrub })
}
